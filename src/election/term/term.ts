import { mark } from '../../classes/copies.js';
import { showAs } from '../../classes/inspection.js';
import { type DemotionReason, TermEndedError } from '../../errors.js';
import type { EphemeralNode } from '../../lease/ephemeral-node.js';
import type { GuardedTransaction } from '../../lease/guarded-transaction.js';
import { Hold, type LossReason } from '../../lease/hold.js';
import { ignore } from '../../platform/async/promises.js';
import { isWithin, runWithin, WorkContext } from '../../platform/async/work-context.js';
import type { Clock, Timer } from '../../platform/time/clock.js';
import type { Claim } from './claim.js';
import { isLoss } from './loss.js';

/**
 * Leadership: a value with a lifetime. It is yours while {@link Term.isHeld} says so, asked right before acting.
 *
 * Guaranteed, with the takeover delay on: whoever acts only while `isHeld()` never acts at the same time as another
 * leader, if clocks run at rates within 1 % of each other. Not guaranteed: what is begun while it is held and lasts
 * longer than `remainingMs()`. For that, and where clocks can't be trusted, let what you write to refuse lower tokens.
 */
export interface Term {
  /** 1 for the election's first term, and one more for each that follows. */
  readonly number: number;
  /** Which of the election's seats it is for, from 0; each has terms of its own. 0 in an election with one leader. */
  readonly seat: number;
  /** The fencing token: higher than that of every earlier term, also when the election was deleted in between. */
  readonly token: bigint;
  /**
   * Aborts when the term ends, before anything else happens, with a `TermEndedError` that has the reason. An abort
   * listener that throws is an uncaught exception, as with any AbortSignal: Node reports it, not this library.
   */
  readonly signal: AbortSignal;
  /** Whether this process leads at this very moment: asks the clock, so it is right after any pause. */
  isHeld(): boolean;
  /** @throws TermEndedError unless the term is held at this very moment */
  assertHeld(): void;
  /** How long it is held without another word from a server, in milliseconds; 0 when it is over. */
  remainingMs(): number;
  /**
   * Counts `work` as the leader's: when the term ends, leadership isn't given away before it has settled. A
   * rejection is reported through `error`. Work that calls `resign()` or `stop()` and waits for it is given as a
   * function, which is called right after: of a promise nobody can tell that it waits for its own end.
   *
   * @throws TermEndedError if the term has been given away already
   */
  waitUntil(work: Promise<unknown> | (() => unknown)): void;
  /**
   * Writes in ZooKeeper that are carried out only while this term's node exists: true fencing, whatever the clocks do.
   * It exists until the term's work has settled, so work may write for the last time after `signal` has aborted.
   */
  transaction(): GuardedTransaction;
}

/** What is known of a term's end beyond its reason. */
export interface TermEnding {
  /** What led to it, if that is an error. */
  readonly cause?: Error | undefined;
  /** The name of the node that was called to lead next. */
  readonly successor?: string;
  /** By when the work has to settle, by the session's clock; else the lease decides. */
  readonly settleBy?: number;
}

/** The term of an elector: what the world sees, and the work that is done in it. */
export class ElectedTerm extends Hold implements Term {
  readonly number: number;
  readonly seat: number;
  readonly token: bigint;
  readonly claim: Claim;
  readonly #own: EphemeralNode;
  readonly #clock: Clock;
  /** What has still to settle: `lead`, and what was given to `waitUntil`. */
  readonly #work = new Map<Promise<void>, 'lead' | 'waitUntil'>();
  readonly #onLoss: (reason: DemotionReason, cause?: Error) => void;
  readonly #onWorkFailed: (cause: unknown) => void;
  #ending: TermEnding = {};
  #endedFor: DemotionReason | undefined;
  /** What the leader's work is done for, so that it can be told from others who ask for the term's end. */
  readonly #undertaking = new WorkContext();

  /**
   * @param onLoss - the term is being lost; must call {@link ElectedTerm.end}
   * @param onWorkFailed - work rejected while the term lasted, or for a reason of its own
   */
  constructor(
    claim: Claim,
    own: EphemeralNode,
    clock: Clock,
    onLoss: (reason: DemotionReason, cause?: Error) => void,
    onWorkFailed: (cause: unknown) => void,
  ) {
    super(own, clock);
    this.number = claim.term;
    this.seat = claim.seat;
    this.token = claim.token;
    this.claim = claim;
    this.#own = own;
    this.#clock = clock;
    this.#onLoss = onLoss;
    this.#onWorkFailed = onWorkFailed;
  }

  waitUntil(work: Promise<unknown> | (() => unknown)): void {
    this.#count(work, 'waitUntil');
  }

  /** Has it led by `lead`, unless it is over by then, and calls `onEnd` when that has come to its end. */
  lead(lead: (term: Term) => unknown, onEnd: () => void): void {
    const work = async () => {
      try {
        // A listener of `elected` may have resigned, or taken longer than the lease lasts.
        if (this.isHeld()) await lead(this);
      } finally {
        onEnd();
      }
    };
    this.#count(work, 'lead');
  }

  #count(work: Promise<unknown> | (() => unknown), kind: 'lead' | 'waitUntil'): void {
    if (this.#undertaking.hasEnded) throw this.signal.reason;
    const promise = typeof work === 'function' ? this.#begin(work) : Promise.resolve(work);
    const settled: Promise<void> = promise
      .then(ignore, (cause: unknown) => {
        if (!this.#isOwnEnd(cause)) this.#onWorkFailed(cause);
      })
      .finally(() => this.#work.delete(settled));
    this.#work.set(settled, kind);
  }

  /** Begun when it is counted: it may ask for its own end before it has returned a promise. */
  #begin(work: () => unknown): Promise<unknown> {
    return Promise.resolve().then(() => this.run(work));
  }

  /** Calls what may begin the leader's work: what that calls is told from others until the term is given away. */
  run<T>(work: () => T): T {
    return runWithin(this.#undertaking, work);
  }

  /** Whether this is called by what the leader does in this term. */
  get isAround(): boolean {
    return isWithin(this.#undertaking);
  }

  /** Whether there is work that has still to settle. */
  get hasWork(): boolean {
    return this.#work.size > 0;
  }

  /** How much there is of it. */
  get workCount(): number {
    return this.#work.size;
  }

  /** In words: which work has still to settle. */
  get unsettled(): string {
    const kinds = [...this.#work.values()];
    const others = kinds.filter((kind) => kind === 'waitUntil').length;
    const given = `${others} piece${others === 1 ? '' : 's'} of work given to \`waitUntil\``;
    if (!kinds.includes('lead')) return `${given} in term ${this.number} still run${others === 1 ? 's' : ''}`;
    return others === 0
      ? `\`lead\` of term ${this.number} still runs`
      : `\`lead\` of term ${this.number} and ${given} still run`;
  }

  /** Whether there is such work though the lease is over. */
  get hasOverrun(): boolean {
    const isLost = this.#endedFor !== undefined && isLoss(this.#endedFor);
    return this.hasWork && (isLost || !this.#own.isHeld());
  }

  /** What is known of its end, once it has ended. */
  get ending(): TermEnding {
    return this.#ending;
  }

  /** Why it has ended, once it has. */
  get endedFor(): DemotionReason | undefined {
    return this.#endedFor;
  }

  end(reason: DemotionReason, ending: TermEnding): void {
    this.#ending = ending;
    this.#endedFor = reason;
    this.endHold(() => new TermEndedError(this.number, reason, { cause: ending.cause }));
  }

  /** A session that was closed was closed by this process: that is the same as stopping. */
  protected override onLoss(reason: LossReason, cause?: Error): void {
    this.#onLoss(reason === 'session-closed' ? 'stopped' : reason, cause);
  }

  /**
   * Resolves when all work has settled, also what was added meanwhile; from then on no more is taken.
   *
   * @param onOverrun - called once if the lease, or the time that the term's end gave for it, is over before that
   */
  async settled(onOverrun: () => void): Promise<void> {
    if (this.#work.size > 0) {
      const watch = this.#watchOverrun(onOverrun, this.#ending.settleBy ?? Number.POSITIVE_INFINITY);
      while (this.#work.size > 0) await Promise.all(this.#work.keys());
      watch.clear();
    }
    this.#undertaking.finish(); // Given away.
  }

  #watchOverrun(onOverrun: () => void, by: number): Timer {
    let timer: Timer;
    // While it is being given back the node is kept, and its lease goes on: only its real end counts.
    const leftMs = () => Math.min(this.#own.remainingMs(), Math.max(0, by - this.#clock.now()));
    const arm = () => {
      timer = this.#clock.after(leftMs(), () => {
        if (leftMs() > 0) arm();
        else if (this.#work.size > 0) onOverrun();
      });
    };
    arm();
    return { clear: () => timer.clear() };
  }

  /** Work that ends by rejecting with what the signal told it has done what it should. */
  #isOwnEnd(cause: unknown): boolean {
    if (!this.signal.aborted) return false;
    return cause === this.signal.reason || (cause instanceof Error && cause.name === 'AbortError');
  }
}

mark(ElectedTerm, 'Term');
showAs(ElectedTerm, ({ number, seat, token, seemsHeld: held }) => ({ number, seat, token, held }));

/** For logs. */
export function describeTerm({ number, token }: Term, reason?: DemotionReason): object {
  return { term: number, token: String(token), ...(reason !== undefined && { reason }) };
}
