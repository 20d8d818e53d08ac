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
 * Nominates a successor that isn't the next in the queue: the candidate that the leader named, or one with a higher
 * priority. A nomination is a request on the candidate's own node to claim as soon as the leader's node is gone. Safety
 * doesn't depend on which candidate claims: a claim replaces a record at an exact version, and the record says whether the
 * former leader has stopped. The queue only gives an order, and a nomination changes it.
 */
export class Successor {
  readonly #session: Session;
  readonly #path: string;

  constructor(session: Session, path: string) {
    this.#session = session;
    this.#path = path;
  }

  /**
   * Nominates the candidate with that id, or that name of its node, to lead after `leader`. Returns its node's name.
   * @throws NoCandidateError if there is none, or its client doesn't act on requests
   */
  async nominate(candidate: string, leader: Contender): Promise<string> {
    const others = (await new ElectionReader(this.#session, this.#path).candidates()).filter(
      ({ node }) => node !== leader.entry.node,
    );
    const successor = others.find(({ id, node }) => id === candidate || node === candidate);
    if (successor === undefined || !(await this.#nominate(successor.node, leader.entry.node)))
      throw new NoCandidateError(candidate);
    return successor.node;
  }

  /**
   * Reports to the leader that `joiner`, which has a priority, is in the queue: by a mark on the leader's node. If this
   * session may not write that node, the queue decides. A leader that claimed after the joiner's node was created needs no
   * mark: it lists the queue itself, after its claim. Each read here comes after the joiner's creation in the same session,
   * so it shows at least what was there then: a record that is vacant, or held by a node that is gone, will be claimed by a
   * candidate that sees the joiner. @throws what ended the session
   */
  async reportPriority(joiner: Contender): Promise<void> {
    let gone: string | undefined;
    try {
      for (;;) {
        const { data, stat } = await this.#session.retryUntilAnswered(() =>
          this.#session.getData(this.#path),
        );
        const record = parseRecord(data, stat.version);
        if (record.state !== 'held' || record.node === gone || stat.mzxid > joiner.czxid) return;
        if ((await writePriorityMark(this.#session, `${this.#path}/${record.node}`)) !== 'gone') return;
        gone = record.node;
      }
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) throw error;
      this.#session.logger.debug({ cause: describe(error) }, 'could not report a priority to the leader');
    }
  }

  /** Whether a candidate other than `leader` may have a priority; `undefined` if there is no answer. Never rejects. */
  async mayPrefer(leader: Contender): Promise<boolean | undefined> {
    try {
      const children = await this.#session.listChildren(this.#path);
      return children.strings(mayHavePriority).some((node) => node !== leader.entry.node);
    } catch {
      return undefined; // Then the queue is listed when the term ends.
    }
  }

  /**
   * Nominates a candidate with a higher priority than the next in the queue, if there is one, to lead after `leader`.
   * Returns its node's name. Never rejects, and ends after half a lease at most: if it fails, the queue decides.
   */
  async nominatePreferred(leader: Contender): Promise<string | undefined> {
    return await this.#nominatePreferred(leader.entry.node, ({ node }) => node !== leader.entry.node);
  }

  /** As {@link nominatePreferred}, to lead after `after`: a candidate behind `first`, the first in the queue. */
  async nominatePreferredTo(first: Contender, after: string): Promise<string | undefined> {
    return await this.#nominatePreferred(
      after,
      ({ sequence }) => compareSequences(sequence, first.entry.sequence) >= 0,
    );
  }

  async #nominatePreferred(
    after: string,
    mayLead: (entry: QueueEntry) => boolean,
  ): Promise<string | undefined> {
    const { clock, leaseMs, state } = this.#session;
    if (state.name !== 'connected') return undefined;
    let nominated: string | undefined;
    const nominating = async () => {
      const children = await this.#session.retryUntilAnswered(() => this.#session.listChildren(this.#path));
      if (children.strings(mayHavePriority).length === 0) return;
      nominated = await this.#nominateFirst(queueOf(children.strings()).filter(mayLead), after);
    };
    await settledWithin(clock, nominating(), leaseMs / 2);
    return nominated;
  }

  /** Skips nodes that are gone or without a client: a node that belongs to no session is seen when it is nominated. */
  async #nominateFirst(queue: readonly QueueEntry[], after: string): Promise<string | undefined> {
    const { ownerless } = this.#session.guard;
    const left = queue.filter(({ node }) => !ownerless.has(this.#path, node));
    const preferred = preferredSuccessor(left);
    if (preferred === undefined || (await this.#nominate(preferred.node, after))) return preferred?.node;
    return await this.#nominateFirst(
      left.filter((entry) => entry !== preferred),
      after,
    );
  }

  /** Asks the candidate with that node to claim when `after` is gone. `false`: it is gone, or won't act on requests. */
  async #nominate(node: string, after: string): Promise<boolean> {
    const request = { kind: 'succeed', after } as const;
    return (await writeRequest(this.#session, `${this.#path}/${node}`, request)) === 'written';
  }
}
