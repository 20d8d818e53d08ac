import { NoNodeError, type ZooKeeperError } from '../errors.js';
import { afterRead, type Sign, UNSEEN } from '../lease/failure-detector.js';
import type { NodeWithHeartbeat } from '../lease/node-with-heartbeat.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { ignore } from '../platform/async/promises.js';
import type { Contender } from '../queue/contender.js';
import { heartbeatNodeOf, queueOf } from '../queue/names-and-order.js';
import { isOwnerless, orUnreadable } from '../queue/ownerless-contenders.js';
import type { AccompanyingRead, AccompanyingReads } from '../session/keep-alive/keep-alive.js';
import { NodeWatch } from '../session/node-watch.js';
import { isNoAuth } from '../session/protocol/error-codes.js';
import type { NodeData, Stat } from '../session/protocol/multi-and-stats.js';
import { existsRequest, getDataRequest } from '../session/protocol/requests.js';
import { seenAs } from '../session/versioned-records.js';
import { leaseOf } from './candidates/candidate-uuid.js';
import { isVacant, type KnownRecord } from './decide-next-step.js';
import { readRecord } from './record/election-reader.js';
import { type HeldRecord, parseRecord, type SeenRecord } from './record/election-record.js';

/** The candidate for which the record is followed. */
export interface LeaderMonitorHost {
  readonly contender: Contender<NodeWithHeartbeat>;
  /** See {@link KnownRecord}. */
  readonly hadPlace: boolean;
  /** A leader of the election may have a lease of this length, in milliseconds. */
  noteLease(leaseMs: number): void;
  /** The holder that this record names has sent a heartbeat since the candidate follows it: its process lives. */
  holderLives(record: HeldRecord): void;
  /** More is known, or less. */
  changed(): void;
  /** The holder's node can't be watched. */
  failed(reason: unknown): void;
}

/**
 * All that one candidate knows of the record and of the candidate that the record names, and the reads that show it. It decides nothing. No
 * decision rests on a single read, either: the servers refuse a claim if the record has changed or the holder has sent another heartbeat.
 */
export class LeaderMonitor implements AccompanyingReads {
  readonly host: LeaderMonitorHost;
  #record: SeenRecord | undefined;
  /** The transaction that wrote the record which the next fields are about. They are kept while the record is read again. */
  #zxid: bigint | undefined;
  /** The connection over which that record was read last. Its server has the holder's creation, so a missing node is gone there. */
  #shownOn: number | undefined;
  #holder: Sign = UNSEEN;
  /** The newest version of its heartbeat node. */
  #holderProofs: number | undefined;
  #isProtected = false;
  #isHolderThere = false;
  #holderWatch: NodeWatch | undefined;
  /** How often something has happened that may have changed the record: a read that was sent before that doesn't count. */
  #changes = 0;
  #changedAt: number;
  /** See {@link formerEndedAt}. */
  #formerEndedAt = 0;
  #isFollowed = false;
  /** The newest refusal of a claim over a record that was written since, and the transaction that wrote the record which was seen. */
  #refused: { readonly zxid: bigint; readonly at: number } | undefined;

  /** @param first - the record as it was read before the candidate joined */
  constructor(host: LeaderMonitorHost, first?: SeenRecord) {
    this.host = host;
    this.#changedAt = this.#session.clock.now();
    // Of an unreadable record only `look` finds out how long the leases of its leader may be.
    if (first !== undefined && first.value.state !== 'unreadable') this.learn(first);
  }

  get known(): KnownRecord {
    const { hadPlace } = this.host;
    // Over another connection the record may come from a restored backup, and have its version by another candidate's claim.
    const record = this.#record?.connection === this.#session.connectionNumber ? this.#record : undefined;
    const refusedAt = this.#refused?.zxid === record?.zxid ? this.#refused?.at : undefined;
    return {
      record,
      holder: this.#holder,
      isProtected: this.#isProtected,
      hadPlace,
      refusedAt,
    };
  }

  /** How many proofs the holder has sent, as far as the candidate has seen; `undefined` if it has seen none. */
  get holderProofs(): number | undefined {
    return this.#holderProofs;
  }

  /** Whether the holder's node was there when it was read last, and is watched since. */
  get isHolderThere(): boolean {
    return this.#isHolderThere;
  }

  /** When the record changed last, as far as the candidate knows, by the session's clock. */
  get changedAt(): number {
    return this.#changedAt;
  }

  /**
   * Since when the holder that the former record named was gone, or silent, as far as the candidate knows, by the session's clock. At the
   * latest since the record changed.
   */
  get formerEndedAt(): number {
    return this.#formerEndedAt;
  }

  /** Something has happened that may have changed the record. */
  mayHaveChanged(): void {
    this.#record = undefined;
    this.#changes++;
    this.#changedAt = this.#session.clock.now();
    this.host.changed();
  }

  /** The record has this value since. */
  learn(seen: SeenRecord): void {
    if (seen.zxid !== this.#zxid) {
      this.#zxid = seen.zxid;
      if (this.#record !== undefined) this.#changedAt = this.#session.clock.now(); // A read has shown that, and no event.
      this.#formerEndedAt = this.#holder.name === 'unseen' ? this.#changedAt : this.#holder.since;
      this.#holder = UNSEEN;
      this.#holderProofs = undefined;
      this.#isProtected = false;
      this.#unwatchHolder();
    }
    const { value } = seen;
    if (seen.connection !== this.#shownOn) {
      // In a restored backup the holder's node may be there again. Only a read behind the record's shows whether it is gone.
      if (this.#holder.name === 'gone' && value.state === 'held') this.#holder = UNSEEN;
      if (this.#holder.name === 'beating')
        this.#holder = { ...this.#holder, readAt: Number.NEGATIVE_INFINITY };
      this.#unwatchHolder();
      this.#shownOn = seen.connection;
    }
    this.#record = seen;
    if (value.state === 'held') this.host.noteLease(value.leaseMs);
    // A leader may hold it that acts on its lease.
    if (value.state !== 'held' && !isVacant(value, this.known.hadPlace) && this.#holder === UNSEEN)
      this.#holder = { name: 'gone', since: this.#session.clock.now() };
    this.host.changed();
  }

  /**
   * Reads the record, and again if it may have changed meanwhile.
   * @throws as `readRecord` does
   */
  async look(signal: Abortable): Promise<void> {
    for (;;) {
      const changes = this.#changes;
      const seen = await readRecord(this.#session, this.#queue, signal);
      if (seen.value.state === 'unreadable') await this.#noteLeasesInQueue(signal);
      if (changes === this.#changes) return this.learn(seen);
    }
  }

  /** A record that can't be read doesn't say how long its leader's lease is. The names of the candidates do. */
  async #noteLeasesInQueue(signal: Abortable): Promise<void> {
    const names = await this.#session.retryUntilAnswered(
      () => this.#session.getChildren(this.#queue),
      signal,
    );
    for (const entry of queueOf(names)) this.host.noteLease(leaseOf(entry) ?? 0);
  }

  /**
   * The servers have refused a claim, or the first proof of a term: there was another heartbeat, or another write. The next claim takes a
   * whole delay again.
   * @param over - the record that they say was written since
   */
  refused(over?: SeenRecord): void {
    if (over !== undefined) this.#refused = { zxid: over.zxid, at: this.#session.clock.now() };
    if (this.#holder.name === 'beating') this.#holder = UNSEEN;
    this.mayHaveChanged();
  }

  /** The servers don't let this candidate delete the holder's nodes: it waits for the end of the holder's session. */
  protect(): void {
    this.#isProtected = true;
    this.mayHaveChanged();
  }

  /**
   * Reads the holder's heartbeat node with each heartbeat of the session, four times in a lease.
   * @param soon - the first time at once: the candidate has become the next in line
   */
  follow(soon: boolean): void {
    if (this.#isFollowed && !soon) return;
    this.#isFollowed = true;
    this.#session.keepAlive.addReads(this, soon);
  }

  unfollow(): void {
    if (this.#isFollowed) this.#session.keepAlive.removeReads(this);
    this.#isFollowed = false;
  }

  /** Watches the holder's node until it is gone. For a candidate that is the first in the queue: it watches no other node. */
  watchHolder(): void {
    const value = this.#record?.value;
    if (this.#holderWatch !== undefined || this.#holder.name === 'gone' || value?.state !== 'held') return;
    const { node } = value;
    const path = `${this.#queue}/${node}`;
    const shownOn = this.#shownOn;
    const gone = () => {
      this.#unwatchHolder();
      const { clock, connectionNumber } = this.#session;
      // A server that is behind doesn't have the node yet, unless it has shown the record before it was asked for the node.
      if (shownOn === connectionNumber) this.#holder = { name: 'gone', since: clock.now() };
      this.mayHaveChanged(); // The holder may have released the term, and its node went with that release.
    };
    const read = ({ stat }: NodeData) => {
      if (isOwnerless(this.#session, this.#queue, node, stat)) return gone();
      this.#isHolderThere = true;
      this.host.changed();
    };
    const failed = (error: unknown) => this.host.failed(orUnreadable(error, this.#session.absolute(path)));
    this.#holderWatch = new NodeWatch(this.#session, path, { read, gone, failed });
  }

  stop(): void {
    this.#changes++; // A read that is under way doesn't count any more: its answer could make the candidate follow again.
    this.unfollow();
    this.#unwatchHolder();
  }

  /**
   * @internal An answer counts only while the same is known of the record. After a change of the connection the record is read again.
   * The versions that were seen before count further only if it is still the same.
   */
  nextRead(): AccompanyingRead {
    const record = this.#record;
    const { connectionNumber: connection, clock } = this.#session;
    if (record?.value.state !== 'held' || record.connection !== connection || this.#holder.name === 'gone')
      return this.readOfRecord();
    const readAt = clock.now();
    const path = this.#session.absolute(`${this.#queue}/${heartbeatNodeOf(record.value.node)}`);
    const held = record.value;
    const seen = (stat: Stat | undefined) => {
      if (this.#record === record) {
        const before = this.#holder;
        if (stat !== undefined) this.#holderProofs = stat.version;
        this.#holder = afterRead(before, stat, { readAt, now: clock.now(), connection });
        const since = this.#holder.name === 'beating' && stat !== undefined ? this.#holder.since : undefined;
        if (before.name === 'beating' && since !== undefined && since !== before.since)
          this.host.holderLives(held);
        this.host.changed();
      }
    };
    return {
      request: existsRequest(path),
      answered: (stat) => seen(stat as Stat),
      refused: (error) => {
        if (this.#record !== record) return;
        if (isNoAuth(error)) this.#isProtected = true; // Only the end of the holder's session shows its end.
        if (!(error instanceof NoNodeError)) return;
        seen(undefined);
        this.mayHaveChanged(); // The holder has probably released the term.
      },
    };
  }

  /** A read of the record. @param then - called with the answer, if it counts */
  readOfRecord(then: (record: SeenRecord) => void = ignore): AccompanyingRead {
    const changes = this.#changes;
    const { connectionNumber: connection } = this.#session;
    return {
      request: getDataRequest(this.#session.absolute(this.#queue), false),
      answered: (node) => {
        if (changes !== this.#changes) return;
        const seen = seenAs(node as NodeData, parseRecord, connection as number);
        if (seen.value.state === 'unreadable' && seen.zxid !== this.#zxid) return this.mayHaveChanged();
        this.learn(seen);
        then(seen);
      },
      refused: (error: ZooKeeperError) => {
        if (error instanceof NoNodeError && changes === this.#changes) this.mayHaveChanged();
      },
    };
  }

  #unwatchHolder(): void {
    this.#holderWatch?.stop();
    this.#holderWatch = undefined;
    this.#isHolderThere = false;
  }

  get #session() {
    return this.host.contender.session;
  }

  get #queue(): string {
    return this.host.contender.queue;
  }
}
