import { type Candidate, parseCandidate } from '../../election/candidates/candidate.js';
import { parseRecord } from '../../election/record/election-record.js';
import { parseEntry, type QueueEntry, queueOf } from '../../queue/names-and-order.js';
import { DATA, FollowedNode } from '../../session/observers/followed-node.js';
import { hasSession, type NodeData } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import type { DatedRecord } from '../model/election-model.js';
import type { NodeKind } from '../model/node-kind.js';
import { QueueReading } from './queue-reading.js';
import { PACE_MS, type Reading } from './reader-resources.js';

/**
 * Reads an election: its candidates after each listing of its children, and its record when that changes. A record that has
 * changed is reported together with the node that it names.
 */
export class ElectionReading extends QueueReading {
  #record: DatedRecord | undefined;
  /** Of the record. There is one while there are candidates, since only they write it. */
  #watch: FollowedNode<NodeData> | undefined;
  /** The session's connection over which the record was read last. */
  #connection: number | undefined;
  /** How many reads of the record are still pending, because the node that they name is being read. */
  #inHand = 0;
  /** The newest listing whose candidates were read. */
  #listing: { readonly queue: readonly QueueEntry[]; readonly zxid: bigint } | undefined;

  constructor(reading: Reading, path: string) {
    super(reading, path, 'candidates');
  }

  /** @param node - the election's own, read after the listing */
  listed(_: NodeKind, node: NodeData, names: readonly string[], zxid: bigint): void {
    void this.#listed(node, names, zxid); // Never rejects.
  }

  override stop(): void {
    this.#unwatch();
    super.stop();
  }

  async #listed(node: NodeData, names: readonly string[], zxid: bigint): Promise<void> {
    try {
      const all = queueOf(names);
      const queue = await this.readQueue(all, zxid, this.#holder());
      if (queue === undefined) return;
      const present = queue.filter((entry) => {
        const content = this.node(entry.node);
        return content === undefined || hasSession(content.stat);
      });
      this.#listing = { queue: present, zxid };
      if (all.length > 0) this.#watchRecord();
      else {
        this.#unwatch(); // The record stays as it is until a candidate comes.
        await this.#wasRead(node, false);
      }
      this.#report();
    } catch (error) {
      this.failed(error);
    }
  }

  /** The name of the node that the record names. */
  #holder(): string[] {
    const record = this.#record?.record;
    return record?.state === 'held' ? [record.node] : [];
  }

  #watchRecord(): void {
    if (this.#watch !== undefined) return;
    const { session, slots } = this.reading;
    const listener = {
      read: (node: NodeData) => void this.#wasRead(node, true), // Never rejects.
      missing: () => {
        this.#watch = undefined; // The listing shows whether the election is gone, too.
      },
      failed: (error: unknown) => this.failed(error),
    };
    const options = { whenMissing: 'end', slots, pauseMs: () => PACE_MS } as const;
    this.#watch = new FollowedNode(session, this.path, DATA, listener, options);
  }

  #unwatch(): void {
    this.#watch?.stop();
    this.#watch = undefined;
  }

  async #wasRead(node: NodeData, reports: boolean): Promise<void> {
    const { data, stat } = node;
    const { serverClock, session } = this.reading;
    const record = parseRecord(data, stat.version);
    // Then the record was written a moment ago, and not while there was no connection.
    const isFresh = this.#connection !== undefined && this.#connection === session.connectionNumber;
    if (isFresh && stat.mzxid > (this.#record?.zxid ?? stat.mzxid))
      serverClock.sample(stat.modifiedAtMs, timeOf(session));
    this.#connection = session.connectionNumber;
    const before = this.#record?.record;
    this.#inHand++;
    try {
      const isNew = before?.state !== 'held' || record.state !== 'held' || before.node !== record.node;
      // The node may have changed. It may also be in no listing yet, if its candidate has joined and claimed in one write.
      if (record.state === 'held' && isNew) await this.readAgain(record.node);
      if (this.hasStopped || (this.#record?.zxid ?? 0n) > stat.mzxid) return;
      const at = serverClock.toLocal(stat.modifiedAtMs);
      this.#record = { record, zxid: stat.mzxid, at };
    } catch (error) {
      return this.failed(error);
    } finally {
      this.#inHand--;
    }
    if (reports) this.#report();
  }

  /**
   * Reports the election, but not while the record has changed and wasn't read again: the old record would seem to name a leader that is
   * gone. A listing that is older than the record needs no such wait, because the zxids show it.
   */
  #report(): void {
    const record = this.#record;
    if (this.hasStopped || this.#listing === undefined || record === undefined) return;
    if (this.#watch?.isStale || this.#inHand > 0) return;
    const { queue, zxid: listedZxid } = this.#listing;
    const nodes = new Set([...queue.map(({ node }) => node), ...this.#holder()]);
    const candidates = new Map([...nodes].flatMap((node) => this.#candidate(node)));
    this.reading.model.election(this.path, { record, queue, listedZxid, candidates });
    this.done();
  }

  #candidate(node: string): [string, Candidate][] {
    const content = this.node(node);
    const entry = parseEntry(node);
    return content && entry ? [[node, parseCandidate(entry, 0, content.data)]] : [];
  }
}

/** The time of day. */
function timeOf({ clock }: Session): number {
  return clock.date().getTime();
}
