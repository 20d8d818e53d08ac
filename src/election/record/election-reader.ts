import { InvalidStateError } from '../../errors.js';
import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import { parseSeats } from '../../queue/agreed-seats.js';
import { heartbeatNodeOf, queueOf } from '../../queue/names-and-order.js';
import { ifThere } from '../../session/operations.js';
import { hasSession, type NodeData } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { answeredOver, seenAs } from '../../session/versioned-records.js';
import { type Candidate, parseCandidate } from '../candidates/candidate.js';
import { inOrderOfLeading } from '../candidates/order-by-priority.js';
import { parseRecord, type SeenRecord } from './election-record.js';
import { holderOf, type LeaderSnapshot, leaderOf, snapshotOf } from './leader-snapshot.js';

/** Reads the candidates and the leader of an election from the servers. Writes nothing. */
export class ElectionReader {
  readonly #session: Session;
  readonly #path: string;

  constructor(session: Session, path: string) {
    this.#session = session;
    this.#path = path;
  }

  /** The node with the record; `undefined` if there is none. */
  record(): Promise<NodeData | undefined> {
    return this.#read(() => this.#session.getData(this.#path));
  }

  /** The candidates, in the order of the queue; none if there is no such election. */
  async queue(): Promise<Candidate[]> {
    const children = await this.#read(() => this.#session.getChildren(this.#path));
    const read = queueOf(children ?? []).map(async (entry) => {
      const node = await this.#read(() => this.#session.getData(`${this.#path}/${entry.node}`));
      return node !== undefined && hasSession(node.stat) ? [{ entry, data: node.data }] : [];
    });
    const nodes = (await Promise.all(read)).flat();
    return nodes.map(({ entry, data }, position) => parseCandidate(entry, position, data));
  }

  /** The candidate that holds the current term by the record, if its node is still there. */
  async leader(): Promise<Candidate | undefined> {
    return leaderOf(await this.snapshot());
  }

  /** The record and its holder's node. It takes two reads at most, whatever the number of candidates. */
  async snapshot(): Promise<LeaderSnapshot> {
    const election = await this.record();
    const held = election && holderOf(election);
    return snapshotOf(
      election,
      held && (await this.#read(() => this.#session.getData(`${this.#path}/${held.entry.node}`))),
    );
  }

  /**
   * When the newest heartbeat of this leader was committed, in milliseconds since 1970 by the clock of the server that leads the ensemble.
   * `undefined` if its heartbeats raise no version. Then only the end of the leader's session shows the leader's end.
   */
  async heartbeatAtMs({ node }: Pick<Candidate, 'node'>): Promise<number | undefined> {
    const path = `${this.#path}/${heartbeatNodeOf(node)}`;
    return (await this.#session.retryUntilAnswered(() => this.#session.exists(path)))?.modifiedAtMs;
  }

  /** `undefined` for a node that doesn't exist. */
  #read<T>(operation: () => Promise<T>): Promise<T | undefined> {
    return ifThere(this.#session.retryUntilAnswered(operation));
  }
}

/** An election as one look at it shows. It may be a moment old. */
export interface ElectionPicture {
  readonly exists: boolean;
  /** The term that is led; `undefined` if none is. */
  readonly led: LedTerm | undefined;
  /** In the order in which they will lead, the leader first. */
  readonly candidates: Candidate[];
}

/** A term, and the candidate that leads it. */
export interface LedTerm {
  readonly term: number;
  readonly leader: Candidate;
}

/** Reads an election. Writes nothing. */
export async function readElection(session: Session, path: string): Promise<ElectionPicture> {
  const reader = new ElectionReader(session, path);
  const election = await reader.record();
  const queue = await reader.queue(); // After the record: a holder whose node is there led in between.
  const held = election && holderOf(election);
  const candidates = inOrderOfLeading(queue, held?.entry.node).map((candidate, position) => ({
    ...candidate,
    position,
  }));
  const leader = candidates.find(({ node }) => node === held?.entry.node);
  return { exists: election !== undefined, led: held && leader && { term: held.term, leader }, candidates };
}

/**
 * The record of an election as it is now.
 * @throws InvalidStateError if a semaphore has its number of seats there. A candidate would overwrite that number
 * @throws NoNodeError if there is no such election, a server's refusal, the signal's reason, or the error that ended the session
 */
export async function readRecord(session: Session, path: string, signal: Abortable): Promise<SeenRecord> {
  const [node, connection] = await answeredOver(session, () => session.getData(path), signal);
  if (parseSeats(node.data) !== undefined)
    throw new InvalidStateError(
      `${path} is the path of a semaphore, as its data show: give the election another path`,
    );
  return seenAs(node, parseRecord, connection);
}
