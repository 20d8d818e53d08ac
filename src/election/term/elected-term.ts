import { mark } from '../../classes/duplicate-install.js';
import { showAs } from '../../classes/inspection.js';
import { type DemotionReason, TermEndedError } from '../../errors.js';
import type { EphemeralNode } from '../../lease/ephemeral-node.js';
import { Hold, type LossReason } from '../../lease/hold.js';
import { ignore } from '../../platform/async/promises.js';
import { isWithin, runWithin, WorkContext } from '../../platform/async/work-context.js';
import type { Logger } from '../../platform/logging/logger.js';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { callLead } from './call-lead.js';
import type { Claim } from './claim.js';
import { isLoss } from './loss.js';
import type { Term } from './term.js';

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
  readonly #node: EphemeralNode;
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
    node: EphemeralNode,
    clock: Clock,
    onLoss: (reason: DemotionReason, cause?: Error) => void,
    onWorkFailed: (cause: unknown) => void,
  ) {
    super(node, clock);
    this.number = claim.term;
    this.seat = claim.seat;
    this.token = claim.token;
    this.claim = claim;
    this.#node = node;
    this.#clock = clock;
    this.#onLoss = onLoss;
    this.#onWorkFailed = onWorkFailed;
  }

  waitUntil(work: Promise<unknown> | (() => unknown)): void {
    this.#count(work, 'waitUntil');
  }

  /** Calls `lead`, unless the term is over by then, and `onEnd` when the work of `lead` has settled. */
  lead(lead: (term: Term) => unknown, logger: Logger, onEnd: () => void): void {
    const work = async () => {
      try {
        // A listener of `elected` may have resigned, or taken longer than the lease lasts.
        if (this.isHeld()) await callLead(lead, this, logger);
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

  /** How many pieces of work have still to settle. */
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
    return this.hasWork && (isLost || !this.#node.isHeld());
  }

  /** For logs. */
  describe(reason?: DemotionReason): object {
    return { term: this.number, token: String(this.token), ...(reason !== undefined && { reason }) };
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
    const leftMs = () => Math.min(this.#node.remainingMs(), Math.max(0, by - this.#clock.now()));
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
