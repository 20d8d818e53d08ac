import { PrepareError } from '../errors.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort-controller.js';
import { abortable, deferred, ignore } from '../platform/async/promises.js';
import { exponentialPauseMs } from '../platform/retry/backoff.js';
import type { Timer } from '../platform/time/clock.js';
import type { Session } from '../session/session.js';
import type { AdvertisedData } from './advertised-data.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import type { QueuePlace } from './queue-place.js';

/** The part of an elector that a preparation uses. */
export interface PreparationHost {
  readonly session: Session;
  readonly advertisement: AdvertisedData;
  report(error: Error): void;
}

type PreparationState =
  | { readonly name: 'idle' }
  /** `settled` never rejects. */
  | { readonly name: 'running'; readonly settled: Promise<void> }
  | { readonly name: 'pausing'; readonly timer: Timer }
  | { readonly name: 'prepared'; readonly warm: unknown }
  | { readonly name: 'ended' };

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** How long `lead` waits in a term. No candidate works meanwhile, and another one may be prepared. */
export const PREPARE_TIMEOUT_MS = 60_000;

const HANGS = `prepare has not settled within ${PREPARE_TIMEOUT_MS} ms in the term, and lead waits for it: load in lead what takes longer`;

/**
 * What a candidate does with the option `prepare` in one place in the queue. Nothing waits for it but `lead`, for a limited time: neither a
 * release nor a stop does. So it changes nothing in who leads, and when, unless it fails or hangs in a term.
 */
export class Preparation {
  readonly #prepare: NonNullable<ResolvedElectorOptions['prepare']>;
  readonly #place: Pick<QueuePlace, 'publish'>;
  readonly #host: PreparationHost;
  readonly #ended = new LazyAbortController<Error>();
  #state: PreparationState = { name: 'idle' };
  /** Since when `lead` has waited. */
  #awaitedSince: number | undefined;

  constructor(
    prepare: NonNullable<ResolvedElectorOptions['prepare']>,
    place: Pick<QueuePlace, 'publish'>,
    host: PreparationHost,
  ) {
    this.#prepare = prepare;
    this.#place = place;
    this.#host = host;
  }

  /** The candidate may lead soon. The first call counts. */
  begin(): void {
    if (this.#state.name === 'idle') this.#attempt(1);
  }

  /** For how long `lead` has waited, in milliseconds; `undefined` if it doesn't wait. */
  get awaitedMs(): number | undefined {
    return this.#awaitedSince === undefined
      ? undefined
      : Math.round(this.#host.session.clock.now() - this.#awaitedSince);
  }

  /**
   * The value for `lead`. Begins `prepare` if that isn't under way: once at most.
   * @param term - the term's signal
   * @throws what `prepare` throws if it was begun here, the signal's reason, or an error when {@link PREPARE_TIMEOUT_MS} are over
   */
  async warm(term: Abortable): Promise<unknown> {
    const { clock } = this.#host.session;
    const late = deferred<never>();
    const timer = clock.after(PREPARE_TIMEOUT_MS, () => late.reject(new Error(HANGS)));
    this.#awaitedSince = clock.now();
    try {
      return await Promise.race([this.#warm(term), late.promise]);
    } finally {
      timer.clear();
      this.#awaitedSince = undefined;
    }
  }

  async #warm(term: Abortable): Promise<unknown> {
    if (this.#state.name === 'running') await abortable(this.#state.settled, term);
    if (this.#state.name === 'prepared') return this.#state.warm;
    term.throwIfAborted();
    if (this.#state.name === 'pausing') this.#state.timer.clear();
    return await abortable(this.#run(), term);
  }

  /** The place is lost, or the work of its term has settled. */
  end(): void {
    if (this.#state.name === 'pausing') this.#state.timer.clear();
    this.#become({ name: 'ended' });
    this.#host.advertisement.prepared(false); // For the next place.
    this.#ended.abortFor(
      () => new DOMException('the candidate has left this place in the queue', 'AbortError'),
    );
  }

  #attempt(attempt: number): void {
    const settled = this.#run().then(ignore, (cause: unknown) => this.#failed(attempt, cause));
    this.#become({ name: 'running', settled });
  }

  async #run(): Promise<unknown> {
    // Not on the caller's stack.
    const warm: unknown = await Promise.resolve().then(() => this.#prepare({ signal: this.#ended.signal }));
    if (this.#state.name !== 'ended') {
      this.#become({ name: 'prepared', warm });
      void this.#publish(); // Never rejects.
    }
    return warm;
  }

  #failed(attempt: number, cause: unknown): void {
    if (this.#state.name === 'ended') return;
    const pauseMs = exponentialPauseMs(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    const timer = this.#host.session.clock.after(pauseMs, () => this.#attempt(attempt + 1));
    this.#become({ name: 'pausing', timer });
    this.#host.report(new PrepareError(attempt, cause));
  }

  async #publish(): Promise<void> {
    const { session, advertisement, report } = this.#host;
    advertisement.prepared(true);
    try {
      await this.#place.publish(this.#ended);
    } catch (error) {
      if (!this.#ended.aborted && !session.ended.aborted) report(error as Error);
    }
  }

  /** The only place that writes the state. */
  #become(next: PreparationState): void {
    this.#state = next;
  }
}
