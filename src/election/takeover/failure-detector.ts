import { NoNodeError, type ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { heartbeatNodeOf } from '../../lock/queue/heartbeat-node.js';
import { compareEntries, parseEntry } from '../../lock/queue/order.js';
import { ignore } from '../../platform/async/promises.js';
import type { Timer } from '../../platform/time/clock.js';
import type { AccompanyingRead, AccompanyingReads } from '../../session/connection/heartbeat.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { NodeData, Stat } from '../../session/protocol/records.js';
import { existsRequest, getDataRequest, type Request } from '../../session/protocol/requests.js';
import { parseRecord } from '../nodes/record.js';
import type { RecordRead } from '../term/claim-rules.js';
import {
  type HeldRecord,
  type LastObservation,
  observed,
  rankOf,
  takeoverStep,
} from './lease-observation.js';

/**
 * A leader of which nothing was heard for longer than its lease. It has all facts that a claim of the next term needs.
 */
export interface LeaderFailure {
  readonly seat: number;
  readonly leader: HeldRecord;
  /** The newest version of its heartbeat node that was seen. The claim is refused if the node has another version. */
  readonly heartbeatVersion: number;
  /** When that version was first seen, by the session's clock. */
  readonly silentSince: number;
}

/** The record whose leader is followed, and the callbacks for its failure. */
export interface FailureDetectorOptions {
  readonly contender: Contender;
  readonly recordPath: string;
  readonly seat: number;
  /** See `takeoverDelayMs` of the candidate's options. */
  readonly leastDelayMs: number;
  /** The newest observation of that record's leader, perhaps by another detector. */
  readonly lastObservation: LastObservation;
  /** Whether the servers refused to let the candidate take over from the leader of that record. */
  isRefused(leader: HeldRecord): boolean;
  onFailure(failure: LeaderFailure): void;
  /** The candidate has become the third in line. The record shows that; no node that it watches has gone. */
  onThird?(): void;
}

/**
 * - `off`: nothing is read.
 * - `reading`: the record is read with each heartbeat, until it shows a leader whose term can be taken over.
 * - `following`: the version of that leader's heartbeat node is read with each heartbeat.
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
 * Follows the heartbeats of a leader for a candidate that may have to take over. It costs one small read with each
 * heartbeat of the candidate's session. The detector reports, once, that the leader's lease is surely over. No decision
 * rests on a single read: the servers refuse the claim if there was another heartbeat. See docs/design/takeover.md.
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
   * From now on `position` nodes ahead in the queue block the candidate, and it waits for the node `ahead`. The
   * detector goes on with the leader that it follows, if that one is still there. Otherwise it begins with a read of
   * the record, unless the candidate is too far behind to take over.
   */
  follow(position: number, ahead: string): void {
    const isNext = position === 1 && this.#position !== 1;
    this.#position = position;
    this.#ahead = ahead;
    const state = this.#state;
    const rank = state.name === 'following' ? this.#rankBehind(state.leader) : undefined;
    if (state.name === 'following' && rank !== undefined && !this.#hasGone(state.leader)) {
      this.#become({ ...state, rank }, isNext);
      return this.#decide(); // With a lower rank the candidate waits a shorter time.
    }
    this.#become({ name: rankOf(position, true) === undefined ? 'off' : 'reading' }, isNext);
  }

  /**
   * Whether a leader that was ahead has gone: another node is the only one left ahead. If a leader's end isn't seen
   * here, the next read shows it.
   */
  #hasGone({ record }: HeldRecord): boolean {
    return this.#position === 1 && record.node !== this.#ahead && this.#isAhead(record.node);
  }

  #rankBehind({ record }: HeldRecord): number | undefined {
    return rankOf(this.#position, this.#isAhead(record.node));
  }

  /**
   * A read of the record that shows whether the second predecessor leads: then the candidate is the third in line.
   * `undefined` while the detector reads anyway.
   * @param probe - called if the predecessor leads: then the second predecessor has probably gone
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
   * @internal An answer counts only while the detector still asks the same question. After a change of the connection
   *   it reads the record again. The versions that it has seen count further only if the record is the same.
   */
  nextRead(): AccompanyingRead {
    const state = this.#state;
    const { connectionNumber } = this.#session;
    if (state.name === 'following' && state.leader.connection === connectionNumber) {
      const readAt = this.#session.clock.now();
      return {
        request: existsRequest(state.heartbeatPath),
        answered: (stat) => this.#heartbeatRead(state.leader, stat as Stat, readAt),
        refused: (error) => {
          if (this.#isFollowing(state.leader)) this.#refused(error);
        },
      };
    }
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

  #heartbeatRead(leader: HeldRecord, stat: Stat, readAt: number): void {
    if (this.#state.name !== 'following' || this.#state.leader !== leader) return;
    if (stat.version < 0) return this.stop(); // After so many heartbeats the version is negative, and -1 in a claim would fit any version.
    const { lastObservation } = this.#options;
    const read = { readAt, now: this.#session.clock.now(), connection: leader.connection };
    lastObservation.note(leader.zxid, observed(lastObservation.of(leader.zxid), stat, read));
    this.#decide();
  }

  /**
   * If the heartbeat node is gone, so is the leader, with or without a release. The queue's watches show that, and the
   * detector looks for the next leader. If the session may not read the node, the candidate has to wait for the end of
   * the leader's session. After any other refusal the detector reads on.
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
   * Whether the queue notices the end of that node. The end of the node that the candidate waits for begins another
   * wait, and the third in line learns from the record which candidate leads. Any other holder may be gone already, and
   * the predecessor may be about to take over from it: then the detector reads on.
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
    // A claim has to go out over the connection that has shown the record and the version. The next heartbeats read both again.
    const { connectionNumber } = this.#session;
    const isRead = leader.connection === connectionNumber && observation.connection === connectionNumber;
    if (step.kind === 'claim' && !isRead) return;
    switch (step.kind) {
      case 'wait':
        this.#timer = this.#session.clock.after(step.ms, () => this.#decide());
        return;
      case 'prove':
        contender.node.keepAlive(); // Its next heartbeat is followed by the next read.
        return;
      case 'claim':
        this.stop();
        lastObservation.forget(); // If the claim is refused, the next claim takes a whole delay again.
        onFailure({
          ...{ seat, leader, heartbeatVersion: observation.version },
          silentSince: observation.since,
        });
    }
  }

  /**
   * The only place that turns the reads on and off.
   * @param soon - the candidate has become the next in line. It is ready to lead as soon as it knows the leader and has
   *   a lease
   */
  #become(next: State, soon = false): void {
    this.#timer?.clear();
    this.#state = next;
    const { heartbeat } = this.#session;
    if (next.name === 'off') heartbeat.removeReads(this);
    else heartbeat.addReads(this, soon);
  }

  get #session() {
    return this.#options.contender.session;
  }
}
