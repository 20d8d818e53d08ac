import { NoNodeError } from '../../errors.js';
import { queueOf } from '../../lock/queue/order.js';
import type { ReadOptions } from '../../session/operations.js';
import { hasSession } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { type Candidate, parseCandidate } from './candidate.js';
import { heartbeatNodeOf } from './heartbeat-node.js';
import { recordPath } from './record.js';
import { holderOf, type LeaderSnapshot, leaderOf, snapshotOf } from './snapshot.js';

/** The leader on each of an election's seats, from seat 0. */
export function leadersOf(session: Session, path: string, seats: number): Promise<(Candidate | undefined)[]> {
  const leaderOn = (seat: number) =>
    new ElectionReader(session, path, seats === 1 ? undefined : seat).leader();
  return Promise.all(Array.from({ length: seats }, (_, seat) => leaderOn(seat)));
}

/** Reads the candidates and the leader of an election, as far as the servers know. Writes nothing. */
export class ElectionReader {
  readonly #session: Session;
  readonly #path: string;
  readonly #record: string;

  /** @param seat - the seat whose leader is read, of an election with several */
  constructor(session: Session, path: string, seat?: number) {
    this.#session = session;
    this.#path = path;
    this.#record = recordPath(path, seat);
  }

  /** The candidates, in the order in which they will lead; none if there is no such election. */
  async candidates(): Promise<Candidate[]> {
    const children = await this.#read(() => this.#session.getChildren(this.#path));
    const read = queueOf(children ?? []).map(async (entry) => {
      const node = await this.#read(() => this.#session.getData(`${this.#path}/${entry.node}`));
      return node !== undefined && hasSession(node.stat) ? [{ entry, data: node.data }] : [];
    });
    const nodes = (await Promise.all(read)).flat();
    return nodes.map(({ entry, data }, position) => parseCandidate(entry, position, data));
  }

  /** The candidate that holds the current term by the record and is still there, if there is one. */
  async leader(): Promise<Candidate | undefined> {
    return leaderOf(await this.snapshot());
  }

  /**
   * The record and its holder's node, by two reads at most however many candidates are in the queue.
   * @param watch - reports the next change to what was read; an election that is missing has nothing to be watched
   */
  async snapshot(watch?: Required<ReadOptions>): Promise<LeaderSnapshot> {
    const readNode = (path: string) => this.#read(() => this.#session.getData(path, watch), watch?.signal);
    const election = await readNode(this.#record);
    const held = election === undefined ? undefined : holderOf(election);
    return snapshotOf(
      election,
      held === undefined ? undefined : await readNode(`${this.#path}/${held.entry.node}`),
    );
  }

  /**
   * When the newest heartbeat of this leader was committed, in milliseconds since 1970 by the clock of the server that leads the
   * ensemble. `undefined` if its heartbeats raise no version: then only the end of its session shows its end.
   */
  async heartbeatAtMs({ node }: Pick<Candidate, 'node'>): Promise<number | undefined> {
    const path = `${this.#path}/${heartbeatNodeOf(node)}`;
    return (await this.#session.retryUntilAnswered(() => this.#session.exists(path)))?.modifiedAtMs;
  }

  /**
   * After it, a read shows at least what any client has read before: it commits a write, at which the server has everything
   * that was committed earlier. It needs no more than the right to read.
   */
  async catchUp(signal: AbortSignal): Promise<void> {
    await this.#read(() => this.#session.commit([{ kind: 'check', path: this.#path }]), signal);
  }

  /** `undefined` for a node that doesn't exist. */
  async #read<T>(operation: () => Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
    try {
      return await this.#session.retryUntilAnswered(operation, signal);
    } catch (error) {
      if (error instanceof NoNodeError) return undefined;
      throw error;
    }
  }
}
