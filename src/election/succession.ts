import { BadVersionError, NoNodeError } from '../errors.js';
import { compareSequences, type QueueEntry, queueOf } from '../lock/order.js';
import { isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import { preferredSuccessor } from './priority.js';
import { type CandidateRequest, parseRequest, withRequest } from './request.js';

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

  /** Of the queue without `without`, the one that priority puts before the first. */
  async preferred(without: QueueEntry): Promise<QueueEntry | undefined> {
    const children = await this.#session.untilAnswered(() => this.#session.getChildren(this.#path));
    return preferredSuccessor(queueOf(children).filter(({ node }) => node !== without.node));
  }

  /** As {@link preferred}, for the first in the queue: somebody behind it with a higher priority than its own. */
  async preferredTo(own: QueueEntry): Promise<QueueEntry | undefined> {
    const children = await this.#session.untilAnswered(() => this.#session.getChildren(this.#path));
    const queue = queueOf(children).filter(({ sequence }) => compareSequences(sequence, own.sequence) >= 0);
    return preferredSuccessor(queue);
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
