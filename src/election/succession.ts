import { BadVersionError, NoCandidateError, NoNodeError } from '../errors.js';
import type { Contender } from '../lock/contender.js';
import { compareSequences, type QueueEntry, queueOf } from '../lock/order.js';
import { settledWithin } from '../promises.js';
import { isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import { mayHavePriority, preferredSuccessor } from './priority.js';
import { type CandidateRequest, parseRequest, withRequest } from './request.js';
import { Roll } from './roll.js';

/**
 * Who leads next when it isn't the next in line: the one that the leader names, or one with a higher priority.
 *
 * It is asked by a request on its own node to claim as soon as the leader's node is gone. Nothing about safety depends
 * on who claims: a claim takes a record at an exact version, and the record says whether the former leader has stopped.
 * What the queue gives is an order, and here somebody steps out of it.
 */
export class Succession {
  readonly #session: Session;
  readonly #path: string;

  constructor(session: Session, path: string) {
    this.#session = session;
    this.#path = path;
  }

  /**
   * Calls the candidate with that id, or that name of its node, to lead after `leader`. Gives its node's name.
   *
   * @throws NoCandidateError if there is none, or it doesn't heed calls
   */
  async callNamed(candidate: string, leader: Contender): Promise<string> {
    const others = (await new Roll(this.#session, this.#path).candidates()).filter(
      ({ node }) => node !== leader.entry.node,
    );
    const successor = others.find(({ id, node }) => id === candidate || node === candidate);
    if (successor === undefined || !(await this.call(successor.node, leader.entry.node)))
      throw new NoCandidateError(candidate);
    return successor.node;
  }

  /**
   * Calls a waiter with a higher priority than the next in line, if there is one, to lead after `leader`. Gives its node's
   * name. Never rejects, and isn't waited for long: if it fails, the queue decides.
   */
  async callPreferred(leader: Contender): Promise<string | undefined> {
    if (!leader.own.isCurrent()) return undefined;
    return await this.#callPreferred(leader.entry.node, ({ node }) => node !== leader.entry.node);
  }

  async #callPreferred(after: string, mayLead: (entry: QueueEntry) => boolean): Promise<string | undefined> {
    const { clock, leaseMs, state } = this.#session;
    if (state.name !== 'connected') return undefined;
    let called: string | undefined;
    const calling = async () => {
      const children = await this.#session.untilAnswered(() => this.#session.getChildren(this.#path));
      if (!children.some(mayHavePriority)) return;
      const preferred = preferredSuccessor(queueOf(children).filter(mayLead))?.node;
      if (preferred !== undefined && (await this.call(preferred, after))) called = preferred;
    };
    await settledWithin(clock, calling(), leaseMs / 2);
    return called;
  }

  /**
   * Calls one behind `first`, the first in the queue, that has a higher priority, to lead after `after`; as {@link
   * callPreferred} does.
   */
  async callPreferredTo(first: Contender, after: string): Promise<string | undefined> {
    return await this.#callPreferred(
      after,
      ({ sequence }) => compareSequences(sequence, first.entry.sequence) >= 0,
    );
  }

  /** Asks the candidate with that node to claim when `after` is gone. `false`: it is gone, or doesn't heed requests. */
  async call(node: string, after: string): Promise<boolean> {
    return (
      (await writeRequest(this.#session, `${this.#path}/${node}`, { kind: 'succeed', after })) !== 'gone'
    );
  }
}

/**
 * Puts a request on a candidate's node, beside whatever it advertises, and never over a change of that.
 *
 * @throws a `ZooKeeperError` if the server refuses, for lack of permission say, and what ended the session
 */
export async function writeRequest(
  session: Session,
  path: string,
  request: CandidateRequest,
): Promise<'written' | 'gone'> {
  for (;;) {
    try {
      const { data, stat } = await session.untilAnswered(() => session.getData(path));
      if (JSON.stringify(parseRequest(data)) === JSON.stringify(request)) return 'written'; // By a try that was lost.
      const bytes = withRequest(data, request);
      if (bytes === undefined) return 'gone';
      await session.setData(path, bytes, stat.version);
      return 'written';
    } catch (error) {
      if (error instanceof NoNodeError) return 'gone';
      if (!(error instanceof BadVersionError) && !isUnanswered(error)) throw error;
    }
  }
}
