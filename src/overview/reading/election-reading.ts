import { type Candidate, parseCandidate } from '../../election/candidates/candidate.js';
import { parseRecord } from '../../election/record/record.js';
import { parseEntry, type QueueEntry, queueOf } from '../../queue/names-and-order.js';
import { hasSession, type NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import type { ReadSeat } from '../model/election-model.js';
import type { NodeKind } from '../model/node-kind.js';
import { LIMITS } from '../model/read-limits.js';
import { PacedWatch } from './paced-watch.js';
import { QueueContents } from './queue-reading.js';
import type { Reading } from './reader-resources.js';

type Election = Extract<NodeKind, { readonly name: 'election' }>;

/** A seat's record. It has a watch while there are candidates, since only they write it. */
interface Seat {
  watch: PacedWatch<NodeData> | undefined;
  read: ReadSeat | undefined;
  /** The session's connection over which it was read last. */
  connection: number | undefined;
  /** How many reads of it are still pending, because the node that they name is being read. */
  inHand: number;
}

const NEVER_WRITTEN: ReadSeat = {
  ...{ record: { state: 'vacant', term: 0 }, zxid: 0n, at: 0 },
};

/**
 * Reads an election: its candidates after each listing of its children, and the record of each seat when it changes. A record that has
 * changed is reported together with the node that it names.
 */
export class ElectionReading {
  readonly name = 'election';
  readonly #reading: Reading;
  readonly #path: string;
  readonly #contents: QueueContents;
  #seats: Seat[] = [];
  #isSeated = false;
  /** The newest listing whose candidates were read. */
  #listing: { readonly queue: readonly QueueEntry[]; readonly zxid: bigint } | undefined;
  #newest = 0n;
  readonly #done: () => void;
  #hasStopped = false;

  constructor(reading: Reading, path: string) {
    this.#reading = reading;
    this.#path = path;
    this.#contents = new QueueContents(reading, path);
    this.#done = reading.begin();
  }

  /** @param node - the election's own, read after the listing */
  listed(kind: NodeKind, node: NodeData, names: readonly string[], zxid: bigint): void {
    this.#newest = zxid;
    if (kind.name === 'election') void this.#listed(kind, node, names, zxid); // Never rejects.
  }

  stop(): void {
    this.#hasStopped = true;
    for (const { watch } of this.#seats) watch?.stop();
    this.#reading.limit(`${this.#path} queue`, undefined);
    this.#done();
  }

  async #listed(kind: Election, node: NodeData, names: readonly string[], zxid: bigint): Promise<void> {
    try {
      const all = queueOf(names);
      const isLong = all.length > LIMITS.queue;
      const sentence = `${this.#path}: of ${all.length} candidates the first ${LIMITS.queue} are shown`;
      this.#reading.limit(`${this.#path} queue`, isLong ? sentence : undefined);
      const queue = await this.#contents.read(all.slice(0, LIMITS.queue), this.#holders());
      if (this.#hasStopped || zxid !== this.#newest) return;
      const present = queue.filter((entry) => {
        const content = this.#contents.get(entry.node);
        return content === undefined || hasSession(content.stat);
      });
      this.#listing = { queue: present, zxid };
      this.#resize(kind);
      if (all.length > 0) for (const number of this.#seats.keys()) this.#watch(number, names);
      else await this.#readOnce(kind, node, names);
      this.#report();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** The names of the nodes that records name. */
  #holders(): string[] {
    return this.#seats.flatMap(({ read }) => (read?.record.state === 'held' ? read.record.node : []));
  }

  #resize({ seats, isSeated }: Election): void {
    const count = Math.min(seats, LIMITS.seats);
    if (isSeated !== this.#isSeated) this.#drop(0);
    this.#isSeated = isSeated;
    this.#drop(count);
    while (this.#seats.length < count)
      this.#seats.push({ watch: undefined, read: undefined, connection: undefined, inHand: 0 });
  }

  /** @param from - the number of the first seat that is dropped */
  #drop(from: number): void {
    for (const { watch } of this.#seats.splice(from)) watch?.stop();
  }

  #recordPath(number: number): string {
    return this.#isSeated ? `${this.#path}/seat-${number}` : this.#path;
  }

  #isThere(number: number, names: readonly string[]): boolean {
    return !this.#isSeated || names.includes(`seat-${number}`);
  }

  #watch(number: number, names: readonly string[]): void {
    const seat = this.#seats[number] as Seat;
    if (seat.watch !== undefined) return;
    if (!this.#isThere(number, names)) {
      seat.read = NEVER_WRITTEN;
      return;
    }
    const { session, slots } = this.#reading;
    seat.watch = PacedWatch.ofData(session, slots, this.#recordPath(number), {
      read: (node) => void this.#wasRead(seat, node, true), // Never rejects.
      gone: () => {
        seat.watch = undefined; // The listing shows whether the election is gone, too.
      },
      failed: (error) => this.#failed(error),
    });
  }

  /** Called when there is no candidate: the records stay as they are until one comes. */
  async #readOnce(kind: Election, node: NodeData, names: readonly string[]): Promise<void> {
    for (const seat of this.#seats) {
      seat.watch?.stop();
      seat.watch = undefined;
    }
    const reads = this.#seats.map(async (seat, number) => {
      if (!this.#isThere(number, names)) seat.read = NEVER_WRITTEN;
      else {
        const found = kind.isSeated ? await this.#reading.read(this.#recordPath(number)) : node;
        if (found !== undefined) await this.#wasRead(seat, found, false);
      }
    });
    await Promise.all(reads);
  }

  async #wasRead(seat: Seat, node: NodeData, reports: boolean): Promise<void> {
    const { data, stat } = node;
    const { serverClock, session } = this.#reading;
    const record = parseRecord(data, stat.version);
    // Then the record was written a moment ago, and not while there was no connection.
    const isFresh = seat.connection !== undefined && seat.connection === session.connectionNumber;
    if (isFresh && stat.mzxid > (seat.read?.zxid ?? stat.mzxid))
      serverClock.sample(stat.modifiedAtMs, timeOf(session));
    seat.connection = session.connectionNumber;
    const before = seat.read?.record;
    seat.inHand++;
    try {
      const isNew = before?.state !== 'held' || record.state !== 'held' || before.node !== record.node;
      // The node may have changed. It may also be in no listing yet, if its candidate has joined and claimed in one write.
      if (record.state === 'held' && isNew) await this.#contents.again(record.node);
      if (this.#hasStopped || (seat.read?.zxid ?? 0n) > stat.mzxid) return;
      const at = serverClock.toLocal(stat.modifiedAtMs);
      seat.read = { record, zxid: stat.mzxid, at };
    } catch (error) {
      return this.#failed(error);
    } finally {
      seat.inHand--;
    }
    if (reports) this.#report();
  }

  /**
   * Reports the election, but not while a record has changed and wasn't read again: the old record would seem to name a leader that is
   * gone. A listing that is older than a record needs no such wait, because the zxids show it.
   */
  #report(): void {
    if (this.#hasStopped || this.#listing === undefined) return;
    const { queue, zxid: listedZxid } = this.#listing;
    const seats = this.#seats.flatMap(({ read }) => read ?? []);
    const isStale = this.#seats.some(({ watch, inHand }) => watch?.isStale || inHand > 0);
    if (seats.length < this.#seats.length || isStale) return;
    const named = seats.flatMap(({ record }) => (record.state === 'held' ? record.node : []));
    const nodes = new Set([...queue.map(({ node }) => node), ...named]);
    const candidates = new Map([...nodes].flatMap((node) => this.#candidate(node)));
    this.#reading.listener.election(this.#path, { seats, queue, listedZxid, candidates });
    this.#done();
  }

  #candidate(node: string): [string, Candidate][] {
    const content = this.#contents.get(node);
    const entry = parseEntry(node);
    return content && entry ? [[node, parseCandidate(entry, 0, content.data)]] : [];
  }

  #failed(error: unknown): void {
    if (!this.#hasStopped) this.#reading.refused(this.#path, error);
    this.#done();
  }
}

/** The time of day. */
function timeOf({ clock }: Session): number {
  return clock.date().getTime();
}
