import { describe, NoCandidateError, ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { compareSequences, type QueueEntry, queueOf } from '../../lock/queue/order.js';
import { settledWithin } from '../../platform/async/promises.js';
import type { Session } from '../../session/session.js';
import { ElectionReader } from '../nodes/election-reader.js';
import { mayHavePriority, preferredSuccessor } from '../nodes/priority.js';
import { parseRecord } from '../nodes/record.js';
import { writePriorityMark, writeRequest } from '../nodes/request-writer.js';

/**
 * Who leads next when it isn't the next in line: the one that the leader names, or one with a higher priority.
 *
 * It is asked by a request on its own node to claim as soon as the leader's node is gone. Nothing about safety depends
 * on who claims: a claim takes a record at an exact version, and the record says whether the former leader has stopped.
 * What the queue gives is an order, and here somebody steps out of it.
 */
export class Successor {
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
    const others = (await new ElectionReader(this.#session, this.#path).candidates()).filter(
      ({ node }) => node !== leader.entry.node,
    );
    const successor = others.find(({ id, node }) => id === candidate || node === candidate);
    if (successor === undefined || !(await this.call(successor.node, leader.entry.node)))
      throw new NoCandidateError(candidate);
    return successor.node;
  }

  /**
   * Tells whoever leads that `joiner`, which has a priority, stands in the queue: by a note on the leader's node. Not one
   * that claimed after the joiner had its place: that one lists the queue itself, after its claim.
   *
   * Each read here comes after the joiner's creation in the same session, so it shows at least what was there then: a
   * record that is vacant, or held by one that is gone, will be claimed by one that sees the joiner.
   *
   * A leader whose node this session may not write isn't told, and lets the queue decide.
   *
   * @throws what ended the session
   */
  async announce(joiner: Contender): Promise<void> {
    let gone: string | undefined;
    try {
      for (;;) {
        const { data, stat } = await this.#session.retryUntilAnswered(() =>
          this.#session.getData(this.#path),
        );
        const record = parseRecord(data, stat.version);
        if (record.state !== 'held' || record.node === gone || stat.mzxid > joiner.token) return;
        if ((await writePriorityMark(this.#session, `${this.#path}/${record.node}`)) !== 'gone') return;
        gone = record.node;
      }
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) throw error;
      this.#session.logger.debug({ cause: describe(error) }, 'the leader can not be told of a priority');
    }
  }

  /** Whether anybody in the queue but `leader` may have a priority; `undefined` if there is no answer. Never rejects. */
  async mayPrefer(leader: Contender): Promise<boolean | undefined> {
    try {
      const children = await this.#session.listChildren(this.#path);
      return children.strings(mayHavePriority).some((node) => node !== leader.entry.node);
    } catch {
      return undefined; // Then the queue is listed when the term ends.
    }
  }

  /**
   * Calls a waiter with a higher priority than the next in line, if there is one, to lead after `leader`. Gives its node's
   * name. Never rejects, and isn't waited for long: if it fails, the queue decides.
   */
  async callPreferred(leader: Contender): Promise<string | undefined> {
    return await this.#callPreferred(leader.entry.node, ({ node }) => node !== leader.entry.node);
  }

  async #callPreferred(after: string, mayLead: (entry: QueueEntry) => boolean): Promise<string | undefined> {
    const { clock, leaseMs, state } = this.#session;
    if (state.name !== 'connected') return undefined;
    let called: string | undefined;
    const calling = async () => {
      const children = await this.#session.retryUntilAnswered(() => this.#session.listChildren(this.#path));
      if (children.strings(mayHavePriority).length === 0) return;
      called = await this.#callFirst(queueOf(children.strings()).filter(mayLead), after);
    };
    await settledWithin(clock, calling(), leaseMs / 2);
    return called;
  }

  /** Of those that are there and heed calls. What goes with no session is never next in line, and seen when it is called. */
  async #callFirst(queue: readonly QueueEntry[], after: string): Promise<string | undefined> {
    const { ownerless } = this.#session.guard;
    const left = queue.filter(({ node }) => !ownerless.has(this.#path, node));
    const preferred = preferredSuccessor(left);
    if (preferred === undefined || (await this.call(preferred.node, after))) return preferred?.node;
    return await this.#callFirst(
      left.filter((entry) => entry !== preferred),
      after,
    );
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
