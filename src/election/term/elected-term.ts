import { type DemotionReason, TermEndedError } from '../../errors.js';
import { mayBeReplaced } from '../../lease/failure-detector.js';
import { type GuardedTransaction, HolderTransaction } from '../../lease/guarded-transaction.js';
import { type NodeWithHeartbeat, RecordLostError } from '../../lease/node-with-heartbeat.js';
import { handleOf, type TermHandle } from '../../lease/term-handle.js';
import { type LossReason, Validity } from '../../lease/validity.js';
import { type Overrun, WorkWhileHeld } from '../../lease/work-while-held.js';
import type { Logger } from '../../platform/logging/logger.js';
import type { Clock } from '../../platform/time/clock.js';
import { nextTick } from '../../platform/time/timers.js';
import { mark } from '../../public-class/instance-brand.js';
import { showAs } from '../../public-class/shown-in-console.js';
import type { MarkedSuccessor } from '../candidates/successor.js';
import { isLoss } from './demotion.js';
import type { Claim, Term } from './term.js';

/** The details of a term's end, beside its reason. */
export interface TermEnding {
  /** The error that led to it, if one did. */
  readonly cause?: Error | undefined;
  /** The candidate that is to lead next, if the leader or a requester has named one. */
  readonly successor?: MarkedSuccessor | undefined;
  /** When the work has to have settled, by the session's clock. @default the lease's end */
  readonly settleBy?: number;
}

/** How long the event loop was blocked, or the process stood still, in whole milliseconds: between these two times. */
export interface Blockage {
  /** How long the lease had been over when the process noticed. */
  readonly lateMs: number;
  /** How long ago the newest committed heartbeat had been sent. */
  readonly silentMs: number;
}

/** The term of an elector: the application's view of it, and the leader's work. */
export class ElectedTerm extends Validity implements Term {
  readonly number: number;
  readonly token: bigint;
  readonly claim: Claim;
  /** By the session's clock. */
  readonly beganAt: number;
  readonly #clock: Clock;
  readonly #node: NodeWithHeartbeat;
  readonly #work: WorkWhileHeld<'lead' | 'waitUntil'>;
  readonly #onLoss: (reason: DemotionReason, cause?: Error) => void;
  #ending: TermEnding = {};
  #endedFor: DemotionReason | undefined;
  #endedAt = 0;
  #isLost = false;
  #blocked: Blockage | undefined;
  #handle: TermHandle | undefined;

  /**
   * @param onLoss - called when the term is lost; must call {@link ElectedTerm.end}
   * @param onWorkFailed - called when work rejects while the term lasts, or later for a reason of its own
   */
  constructor(
    claim: Claim,
    node: NodeWithHeartbeat,
    clock: Clock,
    onLoss: (reason: DemotionReason, cause?: Error) => void,
    onWorkFailed: (cause: unknown) => void,
  ) {
    super(node, clock);
    this.number = claim.term;
    this.token = claim.token;
    this.claim = claim;
    this.beganAt = clock.now();
    this.#clock = clock;
    this.#node = node;
    this.#onLoss = onLoss;
    const election = node.absolutePath.slice(0, node.absolutePath.lastIndexOf('/'));
    this.#work = new WorkWhileHeld(this, election, node, clock, onWorkFailed);
  }

  waitUntil(work: Promise<unknown> | (() => unknown)): void {
    this.#work.add(work, 'waitUntil');
  }

  /**
   * Calls `lead`, unless the term is over by then. Calls `onEnd` when the work of `lead` has settled.
   * @param prepared - gives the second argument of `lead`, which the first call waits for
   */
  lead(
    lead: Lead,
    logger: Logger,
    onEnd: () => void,
    prepared?: (term: AbortSignal) => Promise<unknown>,
  ): void {
    const work = async () => {
      try {
        const warm = prepared === undefined ? undefined : await prepared(this.signal);
        // A listener of `elected` may have resigned, or run for longer than the lease lasts.
        if (this.isHeld()) await callLead(lead, this, logger, warm);
      } finally {
        onEnd();
      }
    };
    this.#work.add(work, 'lead');
  }

  /** Calls `work`, which may begin the leader's work. Until the term is given back, {@link isAround} is true in all code that it calls. */
  run<T>(work: () => T): T {
    return this.#work.run(work);
  }

  /** Whether the caller is the leader's work in this term. */
  get isAround(): boolean {
    return this.#work.isAround;
  }

  get hasWork(): boolean {
    return this.#work.count > 0;
  }

  get workCount(): number {
    return this.#work.count;
  }

  /** The work that still has to settle, in words for messages. */
  get unsettled(): string {
    const others = this.#work.countOf('waitUntil');
    const given = `${others} piece${others === 1 ? '' : 's'} of work given to \`waitUntil\``;
    if (this.#work.countOf('lead') === 0)
      return `${given} in term ${this.number} still run${others === 1 ? 's' : ''}`;
    return others === 0
      ? `\`lead\` of term ${this.number} still runs`
      : `\`lead\` of term ${this.number} and ${given} still run`;
  }

  /**
   * Whether the term was lost, so that another candidate may lead: by its end, or since then, because the lease is over or the
   * node is gone. Once lost, a later heartbeat doesn't bring it back.
   */
  get isLost(): boolean {
    this.#isLost ||= !this.#node.isHeld();
    return this.#isLost;
  }

  /** Whether work still runs though the lease is over. */
  get hasOverrun(): boolean {
    return this.hasWork && this.isLost;
  }

  /** The fields for a log line. */
  describe(): object {
    return { term: this.number, token: String(this.token) };
  }

  /** How long the term lasted, in whole milliseconds. To be asked when it has ended. */
  get lastedMs(): number {
    return Math.round(this.#endedAt - this.beganAt);
  }

  /** How long the event loop was blocked past the end of the lease; `undefined` if the process noticed that end in time. */
  get blocked(): Blockage | undefined {
    return this.#blocked;
  }

  /** How long ago the term ended, in whole milliseconds. */
  get endedAgoMs(): number {
    return Math.round(this.#clock.now() - this.#endedAt);
  }

  get ending(): TermEnding {
    return this.#ending;
  }

  get endedFor(): DemotionReason | undefined {
    return this.#endedFor;
  }

  handle(): TermHandle {
    const { number, token } = this;
    this.#handle ??= handleOf(this.shareLease(this.#endedFor), { number, token });
    return this.#handle;
  }

  /** Call it first. @returns the reason for which to {@link end} the term, which may be another one than the given */
  endingFor(reason: DemotionReason): DemotionReason {
    return this.endForOtherThreads(reason);
  }

  end(reason: DemotionReason, ending: TermEnding): void {
    this.#ending = ending;
    this.#endedFor = reason;
    this.#isLost = isLoss(reason);
    this.#endedAt = this.#clock.now();
    // Otherwise a timer would have ended the term at the end of its lease.
    if (mayBeReplaced(this.#node)) {
      const silentMs = Math.round(this.#node.proofAgeMs());
      this.#blocked = { lateMs: silentMs - Math.round(this.#node.leaseMs), silentMs };
    }
    this.endHold(() => new TermEndedError(this.number, reason, { cause: ending.cause }));
  }

  /** Only this process can have closed the session, so that counts as stopping. */
  protected override onLoss(reason: LossReason, cause?: Error): void {
    if (cause instanceof RecordLostError && reason !== 'refused') this.#onLoss('record-overwritten', cause);
    else this.#onLoss(reason === 'session-closed' ? 'stopped' : reason, cause);
  }

  override transaction(): GuardedTransaction {
    const ended = () => {
      // It ends for want of its lease, or another client has written the record.
      if (this.isHeld()) this.#node.recordLost();
      return this.signal.reason as Error;
    };
    return new HolderTransaction([this.#node], ended, this.#node.record);
  }

  /**
   * Resolves when all work has settled, including work that was added meanwhile. From then on `waitUntil` throws.
   * @param onOverrun - called once if the lease is over before, and once if the grace is that the end of the term leaves
   */
  settled(onOverrun: (over: Overrun) => void): Promise<void> {
    const { settleBy = Number.POSITIVE_INFINITY } = this.#ending;
    const overrun = (over: Overrun) => {
      if (over === 'lease') this.#isLost = true;
      onOverrun(over);
    };
    return this.#work.settled(settleBy, overrun, () => mayBeReplaced(this.#node));
  }
}

mark(ElectedTerm, 'Term');
showAs(ElectedTerm, ({ number, token, seemsHeld: held }) => ({ number, token, held }));

type Lead = (term: Term, warm: unknown) => unknown;

/** A term, with the count of its unsettled work and, after its end, the reason of the end. */
type LedTerm = Term & { readonly workCount: number; readonly endedFor: DemotionReason | undefined };

const MESSAGE =
  'lead returned at once, but work that it began still runs: did you forget to await it, or to return its promise? ' +
  'The term ends as soon as lead returns. Pass work that runs longer to term.waitUntil()';

// A check takes time in proportion to the process's timers and sockets: 1 ms with 20,000 of them. A process that leads
// thousands of elections has that many, and mostly uses the same function for all.
const MOST_CHECKS = 100;
/** The functions that were checked, each in its first term. A process checks at most `MOST_CHECKS` functions. */
const checked = new WeakSet<Lead>();
let checks = 0;

/**
 * Calls `lead`. In the first term of each function, it warns if `lead` has returned at once and left work behind. Two signs show that.
 * First, right after the call the process has more timers, sockets, files or child processes than right before it: no other code can have
 * begun them. Second, the result settled before the event loop turned: `lead` can't have waited for them.
 *
 * Work that was given to `waitUntil` causes no warning. The check misses work that begins later, or that uses a socket which was open
 * before. A file that a logger writes to later, as pino does with `sync: false`, may be taken for such work.
 */
export async function callLead(lead: Lead, term: LedTerm, logger: Logger, warm?: unknown): Promise<void> {
  if (checked.has(lead) || checks === MOST_CHECKS) return void (await lead(term, warm));
  checked.add(lead);
  checks++;
  const [resources, works] = [activeResources(), term.workCount];
  const result = lead(term, warm);
  const began = activeResources() > resources && term.workCount === works;
  // If the function ended the term itself, the term isn't given back too early.
  if (!began || term.endedFor !== undefined) return void (await result);
  let turned = false;
  nextTick(() => {
    turned = true; // By now, every promise that can settle within the same turn of the event loop has settled.
  });
  await result;
  if (turned) return;
  logger.warn({ term: term.number }, MESSAGE);
}

// The resource types of stdout and stderr, for a terminal or a pipe. The first line that a process prints opens them.
const STANDARD_STREAMS: ReadonlySet<string> = new Set(['TTYWrap', 'PipeWrap']);

/** How many resources keep the process alive. */
function activeResources(): number {
  return process.getActiveResourcesInfo().filter((kind) => !STANDARD_STREAMS.has(kind)).length;
}
