import type { QueuePosition } from '../queue/turn-wait.js';
import type { Session } from '../session/session.js';
import type { LeaderMonitor } from './leader-monitor.js';
import type { ReadRecord } from './record/election-record.js';

/** Receives the reports of a candidate that waits. */
export interface WaitListener {
  /** The candidate has this position, and the servers will notify it of a change. */
  onWaiting(position: QueuePosition): void;
  /** No node is left to wait for: the candidate claims, or waits out a lease that may last. */
  onClaiming(): void;
  /** It waits, or has waited, for the end of the lease of a leader that ended without a release. */
  onTakeoverWait(): void;
}

const CLAIMING = 'claiming';

/** Reports each change of a candidate's wait once. */
export class WaitReports {
  readonly #listener: WaitListener;
  readonly #record: LeaderMonitor;
  readonly #logger: Session['logger'];
  /** What was reported last. */
  #told: string | undefined;
  /** The record that was waited out last, by the transaction that wrote it. */
  #waitedOut: bigint | undefined;
  /** Likewise, of the record over which a claim was refused last. */
  #refused: bigint | undefined;
  #hasSameId = false;

  constructor(listener: WaitListener, record: LeaderMonitor, logger: Session['logger']) {
    this.#listener = listener;
    this.#record = record;
    this.#logger = logger;
  }

  claiming(): void {
    if (this.#told === CLAIMING) return;
    this.#told = CLAIMING;
    this.#listener.onClaiming();
  }

  /** @param isNew - whether it is to be reported also if the candidate has the same position as before */
  waiting(position: QueuePosition, isNew = false): void {
    const told = `${position.position} ${position.ahead}`;
    if (this.#told === told && !isNew) return;
    this.#told = told;
    this.#listener.onWaiting(position);
  }

  /** The candidate waits out the lease of a leader whose node is gone, or of a record that can't be read, for `ms` more milliseconds. */
  waitingOut(ms: number): void {
    const { record } = this.#record.known;
    this.claiming();
    if (record === undefined || this.#waitedOut === record.zxid) return;
    this.#waitedOut = record.zxid;
    this.#listener.onTakeoverWait();
    this.#logUncleanEnd(record.value, ms);
  }

  /** The servers refuse a claim over the record that the session's server shows: the copies of the servers differ. */
  refused(): void {
    const { record } = this.#record.known;
    if (record === undefined || this.#refused === record.zxid) return;
    this.#refused = record.zxid;
    this.#logger.warn(
      { path: this.#path },
      "the other servers refuse a claim over the record that this session's server shows",
    );
  }

  /** The leader has this candidate's id, and its process lives. */
  sameId(): void {
    if (this.#hasSameId) return;
    this.#hasSameId = true;
    this.#logger.warn(
      { path: this.#path },
      'the leader is another candidate with the same id: give each its own',
    );
  }

  get #path(): string {
    return this.#record.host.contender.queue;
  }

  #logUncleanEnd(record: ReadRecord, waitMs: number): void {
    if (record.state === 'unreadable')
      this.#logger.warn(
        { path: this.#path },
        "another client has overwritten the election's record: waiting until no leader can hold a lease by it",
      );
    if (record.state !== 'held') return;
    this.#logger.info(
      { term: record.term, formerLeader: record.id ?? record.node, waitMs: Math.round(waitMs) },
      'the former leader ended uncleanly: waiting for its lease to end',
    );
  }
}
