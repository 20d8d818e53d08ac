import { NoNodeError, type ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { compareEntries, parseEntry } from '../../lock/queue/order.js';
import { ignore } from '../../platform/async/promises.js';
import type { Timer } from '../../platform/time/clock.js';
import type { AccompanyingRead, AccompanyingReads } from '../../session/connection/heartbeat.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { NodeData, Stat } from '../../session/protocol/records.js';
import { existsRequest, getDataRequest, type Request } from '../../session/protocol/requests.js';
import { heartbeatNodeOf } from '../nodes/heartbeat-node.js';
import { parseRecord } from '../nodes/record.js';
import type { RecordRead } from '../term/claim-rules.js';
import {
  type HeldRecord,
  type LastObservation,
  observed,
  rankOf,
  takeoverStep,
} from './lease-observation.js';

/** A leader of which nothing was heard for longer than its lease: all that a claim of its term needs to know. */
export interface LeaderFailure {
  readonly seat: number;
  readonly leader: HeldRecord;
  /** The last version of its heartbeat node. The claim depends on that it is the last one. */
  readonly heartbeatVersion: number;
  /** When that version was first seen, by the session's clock. */
  readonly silentSince: number;
}

/** One record whose leader is followed, and what is done if it fails. */
export interface FailureDetectorOptions {
  readonly contender: Contender;
  readonly recordPath: string;
  readonly seat: number;
  /** See `takeoverDelayMs` of the candidate's options. */
  readonly leastDelayMs: number;
  /** What was seen of that record's leader before, also by another detector. */
  readonly lastObservation: LastObservation;
  /** Whether the servers refused to let the candidate take over from the leader of that record. */
  isRefused(leader: HeldRecord): boolean;
  onFailure(failure: LeaderFailure): void;
  /** The candidate has become the third in line, as the record says: no node that it watches has gone. */
  onThird?(): void;
  /** The leader behind which the candidate is the next in line, as its record was read last; `undefined`: none is known. */
  onLeader?(leader: HeldRecord | undefined): void;
}

/**
 * - `off`: nothing is read.
 * - `reading`: the record, with each heartbeat, until it shows a leader that can be taken over from.
 * - `following`: the version of that leader's heartbeat node, with each heartbeat.
 */
type State =
  | { readonly name: 'off' }
  | { readonly name: 'reading' }
  | {
      readonly name: 'following';
      readonly leader: HeldRecord;
      readonly heartbeatPath: string;
      readonly rank: number;
    };

/**
 * Follows the heartbeats of a leader for a candidate that may have to take over: one small read with each heartbeat of its own
 * session. Reports, once, that the leader's lease is surely over. What is concluded from is never a single read: the claim is
 * refused if there was another heartbeat. See docs/design/takeover.md.
 */
export class FailureDetector implements AccompanyingReads {
  readonly #options: FailureDetectorOptions;
  #state: State = { name: 'off' };
  #position = 0;
  /** The name of the node that the candidate waits for. */
  #ahead: string | undefined;
  #timer: Timer | undefined;

  constructor(options: FailureDetectorOptions) {
    this.#options = options;
  }

  /**
   * From now on the candidate has so many nodes ahead in the queue which block it, and waits for the one of that name. Goes on with the
   * leader that it follows, if that is there still. Else it begins with the record, if it may matter.
   */
  follow(position: number, ahead: string): void {
    const isNext = position === 1 && this.#position !== 1;
    this.#position = position;
    this.#ahead = ahead;
    const state = this.#state;
    const rank = state.name === 'following' ? this.#rankBehind(state.leader) : undefined;
    if (state.name === 'following' && rank !== undefined && !this.#hasGone(state.leader)) {
      this.#become({ ...state, rank }, isNext);
      return this.#decide(); // With a lower rank the candidate waits for less.
    }
    this.#become({ name: rankOf(position, true) === undefined ? 'off' : 'reading' }, isNext);
  }

  /** It isn't the one node that is left ahead. A leader that has gone without that being seen here is missed by the next read. */
  #hasGone({ record }: HeldRecord): boolean {
    return this.#position === 1 && record.node !== this.#ahead && this.#isAhead(record.node);
  }

  #rankBehind({ record }: HeldRecord): number | undefined {
    return rankOf(this.#position, this.#isAhead(record.node));
  }

  /**
   * A look at the record: the candidate is the third in line if its second predecessor leads. Not while it follows a leader.
   * @param probe - called if the one ahead leads: the second predecessor has probably gone
   */
  lookForLeader(secondPredecessor: string, probe: () => void): AccompanyingRead | undefined {
    const state = this.#state;
    if (state.name !== 'off') return undefined;
    const { connectionNumber } = this.#session;
    return {
      request: this.#recordRequest(),
      answered: (node) => {
        const { data, stat } = node as NodeData;
        const record = parseRecord(data, stat.version);
        if (this.#state !== state || record.state !== 'held') return;
        if (record.node === this.#ahead) return probe();
        if (record.node !== secondPredecessor) return;
        this.#position = 2;
        this.#options.onThird?.();
        this.#recordRead(node as NodeData, connectionNumber);
      },
      refused: ignore,
    };
  }

  stop(): void {
    this.#become({ name: 'off' });
  }

  /**
   * @internal The answer counts only if it is still the same that is asked for. Over another connection the record is read
   * again: only where it is the same do the versions that were seen before count.
   */
  nextRead(): AccompanyingRead {
    const state = this.#state;
    const { connectionNumber } = this.#session;
    if (state.name === 'following' && state.leader.connection === connectionNumber)
      return {
        request: existsRequest(state.heartbeatPath),
        answered: (stat, sentAt) => this.#heartbeatRead(state.leader, stat as Stat, sentAt),
        refused: (error) => {
          if (this.#isFollowing(state.leader)) this.#refused(error);
        },
      };
    const isSame = () =>
      state.name === 'following' ? this.#isFollowing(state.leader) : this.#state === state;
    return {
      request: this.#recordRequest(),
      answered: (node) => {
        if (isSame()) this.#recordRead(node as NodeData, connectionNumber);
      },
      refused: (error) => {
        if (isSame()) this.#refused(error);
      },
    };
  }

  #recordRequest(): Request<NodeData> {
    return getDataRequest(this.#session.absolute(this.#options.recordPath), false);
  }

  #isFollowing(leader: HeldRecord): boolean {
    return this.#state.name === 'following' && this.#state.leader === leader;
  }

  #heartbeatRead(leader: HeldRecord, { version }: Stat, readAt: number): void {
    if (this.#state.name !== 'following' || this.#state.leader !== leader) return;
    if (version < 0) return this.stop(); // After so many heartbeats it would fit any version.
    const { lastObservation } = this.#options;
    const now = this.#session.clock.now();
    lastObservation.note(leader.zxid, observed(lastObservation.of(leader.zxid), version, { readAt, now }));
    this.#decide();
  }

  /**
   * The leader is gone, by a release or not: the queue's watches say so, and there will be another one. A session that may not
   * read a heartbeat node has to wait for the end of the leader's session. After any other refusal it reads on.
   */
  #refused(error: ZooKeeperError): void {
    if (error instanceof NoNodeError) this.#become({ name: 'reading' });
    else if (isNoAuth(error)) this.stop();
  }

  #recordRead({ data, stat }: NodeData, connection: number | undefined): void {
    const record = parseRecord(data, stat.version);
    this.#recordKnown({ record, version: stat.version, zxid: stat.mzxid }, connection);
  }

  #recordKnown({ record, version, zxid }: RecordRead, connection: number | undefined): void {
    const { contender, isRefused } = this.#options;
    if (record.state !== 'held' || record.node === contender.entry.node)
      return this.#become({ name: 'reading' });
    const leader: HeldRecord = { record, version, zxid, connection };
    const before = this.#state;
    if (before.name === 'following' && before.leader.zxid === leader.zxid) {
      this.#become({ ...before, leader });
      return this.#decide();
    }
    const rank = this.#rankBehind(leader);
    if (record.takeover !== 'lease' || isRefused(leader))
      return this.#become({ name: this.#isEndNoticed(record.node) ? 'off' : 'reading' });
    if (rank === undefined) return this.#become({ name: 'reading' });
    const heartbeatPath = this.#session.absolute(`${contender.queue}/${heartbeatNodeOf(record.node)}`);
    this.#become({ name: 'following', leader, heartbeatPath, rank });
  }

  /**
   * The end of the node that the candidate waits for begins another wait, and the third in line learns who leads. Any other
   * holder may be gone already, and the one ahead about to take over from it: read on.
   */
  #isEndNoticed(node: string): boolean {
    return this.#position > 1 ? this.#isAhead(node) : node === this.#ahead;
  }

  #isAhead(node: string): boolean {
    const entry = parseEntry(node);
    const own = this.#options.contender.entry;
    return entry !== undefined && compareEntries(entry, own) < 0;
  }

  #decide(): void {
    const state = this.#state;
    const { contender, lastObservation, leastDelayMs, seat, onFailure } = this.#options;
    const observation = state.name === 'following' ? lastObservation.of(state.leader.zxid) : undefined;
    if (state.name !== 'following' || observation === undefined) return;
    const { leader, rank } = state;
    const step = takeoverStep({
      ...{ ...observation, rank, leastDelayMs, leaderLeaseMs: leader.record.leaseMs },
      now: this.#session.clock.now(),
      ownLeaseMs: this.#session.leaseMs,
      ownRemainingMs: contender.node.remainingMs(),
    });
    this.#timer?.clear();
    // A claim goes out over the connection that has shown the record. The next heartbeat reads that.
    if (step.kind === 'claim' && leader.connection !== this.#session.connectionNumber) return;
    switch (step.kind) {
      case 'wait':
        this.#timer = this.#session.clock.after(step.ms, () => this.#decide());
        return;
      case 'prove':
        contender.node.keepAlive(); // Its next heartbeat is followed by the next read.
        return;
      case 'claim':
        this.stop();
        lastObservation.forget(); // If the claim is refused, the next one is as far away as this one was.
        onFailure({
          ...{ seat, leader, heartbeatVersion: observation.version },
          silentSince: observation.since,
        });
    }
  }

  /**
   * The only place that turns the reads on and off.
   * @param soon - the candidate has become the next in line: it is ready to lead when it knows the leader and has a lease
   */
  #become(next: State, soon = false): void {
    this.#timer?.clear();
    this.#state = next;
    this.#options.onLeader?.(next.name === 'following' && next.rank === 0 ? next.leader : undefined);
    const { heartbeat } = this.#session;
    if (next.name === 'off') heartbeat.removeReads(this);
    else if (!heartbeat.addReads(this, soon)) this.#state = { name: 'off' };
  }

  get #session() {
    return this.#options.contender.session;
  }
}
