import type { LeaderElector } from '../../election/elector.js';
import {
  AuthenticationError,
  CleanupFailedError,
  ConnectionLossError,
  ConnectTimeoutError,
  describe,
  InvalidOptionError,
  InvalidStateError,
} from '../../errors.js';
import { deferred } from '../../platform/async/promises.js';
import { markStopped } from '../../platform/async/starting.js';
import { isWithin, runWithin, WorkContext } from '../../platform/async/work-context.js';
import { checkMetadata } from '../../platform/checks.js';
import { backoffMs } from '../../platform/retry/backoff.js';
import { type Failure, retrying } from '../../platform/retry/retrying.js';
import { sleep } from '../../platform/time/clock.js';
import { Candidacy, type CandidacyPort } from './candidacy.js';
import { callCleanup, type Loss } from './cleanup-hook.js';
import { Cooldown } from './lost-term-cooldown.js';
import { SessionSequence } from './session-sequence.js';
import type { ResolvedSupervisorOptions } from './supervisor-options.js';
import type { SupervisorState } from './supervisor-state.js';

/** The reason with which a stop interrupts what the loop waits for. Never seen outside. */
class StopRequest extends Error {}

export interface LoopPort extends CandidacyPort {
  onStopped(): void; // The loop has ended: nothing of it runs any more. Called once.
}

/** One candidacy after another, each with its own session: connect, campaign; when it has ended, settle, clean up, repeat. */
export class CandidacyLoop {
  readonly sessions: SessionSequence;
  readonly cooldown: Cooldown;
  readonly #port: LoopPort;
  readonly #stop = new AbortController();
  readonly #started = deferred();
  readonly #cleaning = new WorkContext(); // Of the clean-up hook: a call from inside it mustn't wait for its end.
  #options: ResolvedSupervisorOptions; // With the newest data that was advertised.
  #state: SupervisorState = { name: 'idle' };
  #ended: Promise<CleanupFailedError | undefined> = Promise.resolve(undefined);

  constructor(options: ResolvedSupervisorOptions, port: LoopPort) {
    this.#options = options;
    this.#port = port;
    this.cooldown = new Cooldown(options);
    this.sessions = new SessionSequence(options, port.report);
  }

  get state(): SupervisorState {
    return this.#state;
  }

  get elector(): LeaderElector | undefined {
    return 'elector' in this.#state ? this.#state.elector : undefined;
  }

  /** Until when it stays out of the election, by its clock, for terms that were lost: its own pause and its elector's overlap. */
  get coolUntilMs(): number {
    return Math.max(this.cooldown.untilMs, this.elector?.standsAgainAt ?? 0);
  }

  /** Whether the hook is the caller: also one that outlasted its time and still runs in the clean-up of a later loss. */
  get isWithinHook(): boolean {
    return this.#state.name === 'cleaning' && isWithin(this.#cleaning);
  }

  /** Resolves when the loop has ended, with the clean-up that stays outstanding; at once if it was never started. Never rejects. */
  get ended(): Promise<CleanupFailedError | undefined> {
    return this.#ended;
  }

  /** Resolves once it has a place in the queue. @see `ElectionSupervisor.start` */
  start(): Promise<void> {
    if (this.#state.name === 'stopped')
      return Promise.reject(new InvalidStateError('the supervisor has stopped: make a new one'));
    if (this.#state.name === 'idle') this.#ended = this.#run();
    return this.#started.promise;
  }

  /** Interrupts what the loop waits for, except for work and hooks. */
  stop(): void {
    if (this.#stop.signal.aborted) return;
    markStopped(this.#started.promise);
    this.#stop.abort(new StopRequest());
    if (this.#state.name === 'idle') this.#finish();
  }

  async advertise(data: string | Uint8Array): Promise<void> {
    if (checkMetadata('data', data) === undefined)
      throw new InvalidOptionError('data', data, 'a string or a Uint8Array');
    if (this.#state.name === 'stopped') throw new InvalidStateError('the supervisor has stopped');
    this.#options = { ...this.#options, candidacy: { ...this.#options.candidacy, data } };
    if (!('elector' in this.#state)) return;
    const { elector, session } = this.#state;
    try {
      await elector.advertise(data);
    } catch (error) {
      // When that candidacy has ended, the next one begins with the new data.
      if (!session.ended.aborted && elector.state.name !== 'stopped') throw error;
    }
  }

  /** Campaigns; and after each loss cleans up and campaigns again. Gives the clean-up that stays outstanding. Never rejects. */
  async #run(): Promise<CleanupFailedError | undefined> {
    let end: unknown;
    try {
      for (;;) {
        const candidacy = await this.#campaign();
        this.#started.resolve();
        await candidacy.untilEnded(this.#stop.signal);
        const loss = await this.#settle(candidacy);
        if (loss === undefined || (await this.#cleanUp(loss)) === 'stop') break;
      }
    } catch (error) {
      end = error instanceof StopRequest ? new InvalidStateError('stopped before it had a place') : error;
      if (!(error instanceof StopRequest)) this.#port.report(error);
    }
    await this.#port.beforeRelease(); // Unless it was done already. Before `start` rejects, which may well end the process.
    this.#started.reject(end);
    this.#finish();
    return end instanceof CleanupFailedError ? end : undefined;
  }

  /** Takes a place in the queue with a new session, after the cooldown; tries again, with back-off, when that fails. */
  async #campaign(): Promise<Candidacy> {
    const sinceMs = this.#options.environment.clock.now();
    if (this.#state.name !== 'idle') await this.#coolDown();
    return await retrying(
      (attempt) => this.#tryToCampaign({ name: 'connecting', attempt, sinceMs }),
      this.#options.retry.retries,
      (failure) => this.#backOff(failure),
    );
  }

  async #coolDown(): Promise<void> {
    this.#stop.signal.throwIfAborted();
    const { clock } = this.#options.environment;
    this.#become({ name: 'cooling' });
    const delayMs = Math.max(0, this.cooldown.untilMs - clock.now());
    this.#port.emit('restarting', { attempt: 1, delayMs });
    if (delayMs > 0) await sleep(clock, delayMs, this.#stop.signal);
  }

  async #tryToCampaign(connecting: SupervisorState): Promise<Candidacy> {
    this.#become(connecting);
    const session = await this.sessions.open(this.#stop.signal);
    this.sessions.lend(session);
    const candidacy = new Candidacy(session, this.#options, this.cooldown, this.#port);
    const { elector } = candidacy;
    this.#become({ name: 'campaigning', elector, session });
    try {
      const reset = await this.sessions.compareWithEarlier(session, this.#stop.signal);
      if (reset !== undefined) this.#port.report(reset);
      this.#stop.signal.throwIfAborted();
      await elector.start();
      return candidacy;
    } catch (error) {
      const loss = await this.#settle(candidacy);
      // It had no place in the queue, but the application may have used the session.
      if (loss?.reason === 'session-expired' && (await this.#cleanUp(loss)) === 'stop')
        throw new StopRequest();
      this.#stop.signal.throwIfAborted();
      throw error;
    }
  }

  /** @throws what ends the attempts */
  async #backOff({ error, attempt, retriesLeft }: Failure): Promise<void> {
    const { retry, environment, logger } = this.#options;
    if (error instanceof CleanupFailedError || error instanceof StopRequest) throw error;
    this.#stop.signal.throwIfAborted();
    logger.info({ attempt, cause: describe(error) }, 'could not stand for election');
    if (error instanceof AuthenticationError) throw error; // Another attempt won't make the credentials right.
    // A session that finds no server has reported that itself, at intervals that suit the reader.
    const unreachable = error instanceof ConnectTimeoutError || error instanceof ConnectionLossError;
    if (!unreachable && retriesLeft > 0) this.#port.report(error);
    if (retriesLeft <= 0) return;
    const delayMs = backoffMs(attempt, retry, environment.random());
    this.#port.emit('restarting', { attempt: attempt + 1, delayMs });
    await sleep(environment.clock, delayMs, this.#stop.signal);
  }

  /** Lets the candidacy's work settle and closes its session, before anything else happens. Gives what was lost. */
  async #settle(candidacy: Candidacy): Promise<Loss | undefined> {
    const { session, elector } = candidacy;
    this.#become({ name: 'settling', elector, session });
    await elector.withdraw();
    // If it didn't lead, no release has called it.
    if (this.#stop.signal.aborted && candidacy.loss === undefined) await this.#port.beforeRelease();
    const { loss } = candidacy; // Again: that may have taken its time.
    await session.close();
    return loss;
  }

  async #cleanUp(loss: Loss): Promise<'restart' | 'stop'> {
    const { cleanup, cleanupTimeoutMs, cleanupRetry, environment } = this.#options;
    this.#become({ name: 'cleaning', attempt: 1 });
    if (cleanup === undefined) return 'restart';
    const decision = await callCleanup({
      hook: (known) => {
        this.#become({ name: 'cleaning', attempt: known.attempt });
        return runWithin(this.#cleaning, () => cleanup(known));
      },
      loss,
      timeoutMs: cleanupTimeoutMs,
      policy: cleanupRetry,
      environment,
      onFailure: this.#port.report,
      stop: this.#stop.signal,
    });
    this.#port.emit('cleaned');
    return decision;
  }

  #finish(): void {
    this.#started.reject(new InvalidStateError('stopped before it had a place')); // Unless that has settled.
    this.sessions.end(new InvalidStateError('the supervisor has stopped'));
    this.#become({ name: 'stopped' });
    this.#cleaning.finish();
    this.#port.onStopped();
  }

  /** The only place that writes the state. */
  #become(next: SupervisorState): void {
    this.#state = next;
  }
}
