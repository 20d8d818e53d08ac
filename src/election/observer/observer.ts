import { mark } from '../../classes/copies.js';
import { showAs } from '../../classes/inspection.js';
import {
  describe,
  EnsembleResetError,
  InvalidStateError,
  type ListenerError,
  SessionClosedError,
  SessionExpiredError,
} from '../../errors.js';
import { onAbort } from '../../platform/async/lazy-abort.js';
import { abortable, type Deferred, deferred, ignore } from '../../platform/async/promises.js';
import { excuse, type StartOptions, start } from '../../platform/async/starting.js';
import { checkPath } from '../../platform/checks.js';
import { DropOldestQueue } from '../../platform/collections/drop-oldest-queue.js';
import { logError } from '../../platform/logging/logger.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import { type EventNames, SafeEmitter } from '../../platform/safe-emitter.js';
import { sleep } from '../../platform/time/clock.js';
import type { ReadOptions } from '../../session/operations.js';
import type { Session } from '../../session/session.js';
import type { SessionSource } from '../../session/session-source.js';
import type { Candidate } from '../nodes/candidate.js';
import { ElectionReader } from '../nodes/election-reader.js';
import { isInDoubt, isSameLeader, type LeaderSnapshot, leaderOf } from '../nodes/snapshot.js';
import {
  type ElectionObserverOptions,
  type ResolvedObserverOptions,
  resolveObserverOptions,
} from './observer-options.js';
import { type ElectionObserverEvents, OBSERVER_EVENTS, type ObserverState } from './observer-state.js';
import { onStale } from './staleness.js';

/** How many changes are kept for an iterator whose consumer doesn't keep up. */
const BACKLOG = 1000;

/**
 * Watches who leads an election, without standing in it. It only reads: it needs no right to write, and creates
 * nothing, not even an election that is missing, whose access list would be the wrong one.
 *
 * Guaranteed: what it shows comes in the order in which it came about, and never goes back to an earlier leader or to
 * what a leader advertised earlier, also when its sessions change or a server is behind; nothing is shown twice in a
 * row. Not guaranteed: every state in between. The record is vacant for a moment between two terms, and a term may be
 * over before it was seen, so of two leaders in a row the `undefined` between them may be seen or not.
 *
 * It shows what the servers said a moment ago. A leader whose lease has ended is shown until its node is gone, so never
 * take it for a proof: whoever leads asks its own `term`.
 *
 * While the connection is lost it keeps what it saw last, because that demotes nobody. When it can't know any more it
 * doesn't claim to, and shows `undefined`: when it has been without a server for a session timeout, from the end of a
 * session until it has looked with the next one, and while a server doesn't let it look.
 *
 * With a {@link Session} it ends when that does; with a connect string, for which it opens sessions of its own, or an
 * `ElectionSupervisor`, whose sessions it uses, it goes on with the next session.
 *
 * @example
 * ```ts
 * const observer = new ElectionObserver('zk1:2181,zk2:2181,zk3:2181', '/elections/scheduler');
 * observer.on('error', (error) => console.error(error));
 * await observer.start();
 * for await (const leader of observer) console.log(leader?.id ?? 'nobody leads');
 * ```
 */
export class ElectionObserver
  extends SafeEmitter<ElectionObserverEvents>
  implements AsyncIterable<Candidate | undefined>
{
  /** The election's path. */
  readonly path: string;
  readonly #options: ResolvedObserverOptions;
  readonly #stop = new AbortController();
  readonly #started: Deferred<void> = deferred();
  readonly #backlogs = new Set<DropOldestQueue<Candidate | undefined>>();
  #state: ObserverState = { name: 'idle' };
  /** The newest that any session has shown. Kept while blind, so that nothing older is shown after it. */
  #seen: LeaderSnapshot | undefined;
  /** The transaction that wrote the newest record that was seen. Within the life of an ensemble's data it only rises. */
  #recordZxid = 0n;
  #running: Promise<void> = Promise.resolve();

  /**
   * @param session - a session, which is left open; a connect string; or a supervisor
   * @throws InvalidOptionError if the session, the path or an option is wrong
   */
  constructor(session: Session | SessionSource | string, path: string, options?: ElectionObserverOptions) {
    super();
    this.path = checkPath('path', path);
    this.#options = resolveObserverOptions(session, options, (error) => this.#report(error));
  }

  /** Who leads, as far as it knows: the same as the last `change` said. `undefined` before `start` and after `stop`. */
  get leader(): Candidate | undefined {
    return this.#state.name === 'seeing' ? leaderOf(this.#state.sighting) : undefined;
  }

  /**
   * Begins to look. Resolves once it has had its first look, also if there is no such election; with a connect string
   * or a supervisor, however long it takes until there is a session. A second call gives the first one's promise. That it
   * rejects has to be handled, as of any promise; not if the observer was stopped.
   *
   * @throws InvalidOptionError if an option is wrong, or the reason of `options.signal` if that aborts before
   * @throws InvalidStateError if it was stopped, before or meanwhile, or its supervisor was
   * @throws SessionExpiredError, SessionClosedError if the session it was given ends before
   * @throws AuthenticationError if the servers refuse the credentials: it is stopped then
   * @throws ZooKeeperError if a server refuses, for lack of permission say: it is stopped then
   */
  start(options?: StartOptions): Promise<void> {
    return start(options, { begin: () => this.#start(), stop: () => this.stop() });
  }

  #start(): Promise<void> {
    if (this.#state.name === 'stopped')
      return Promise.reject(new InvalidStateError('the observer has stopped: make a new one'));
    if (this.#state.name === 'idle') {
      this.#become({ name: 'starting' });
      this.#running = this.#run();
    }
    return this.#started.promise;
  }

  /**
   * Looks no more: no event comes after it, and its iterators end. Resolves when sessions of its own are closed, after
   * 2 s at most. Nothing of it is left, in this process or at a server. Never rejects.
   */
  async stop(): Promise<void> {
    excuse(this.#started.promise);
    this.#end(new InvalidStateError('the observer was stopped before it had looked'));
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * The leader of now as soon as there was a first look, then every change, each iterator for itself. It ends, without
   * an error, when the observer does, after what it has still to give. A consumer that is over 1000 changes behind
   * misses the oldest of them.
   */
  // Not an AsyncIterableIterator: before TypeScript 5.6 that doesn't say what a finished one gives.
  [Symbol.asyncIterator](): AsyncIterator<Candidate | undefined, undefined> &
    AsyncIterable<Candidate | undefined> {
    const backlog = new DropOldestQueue<Candidate | undefined>(BACKLOG, () => this.#backlogs.delete(backlog));
    if (this.#state.name === 'stopped') backlog.end();
    else this.#backlogs.add(backlog);
    if (this.#seen !== undefined) backlog.push(this.leader);
    return backlog;
  }

  // ---- the observer's life, one paragraph ----

  /** Observes with one session after the other. Never rejects. */
  async #run(): Promise<void> {
    const { source } = this.#options;
    const { signal } = this.#stop;
    let former: Session | undefined;
    try {
      for (;;) {
        const session = await source.session(signal);
        if (session === former) throw session.ended.reason; // There is none after it.
        former = session;
        await this.#observe(session);
        signal.throwIfAborted();
        this.#loseSight();
      }
    } catch (error) {
      this.#finish(error);
    }
    await this.#options.close();
  }

  /**
   * Looks, and looks again whenever something may have changed, until the session is over or the observer stops.
   *
   * @throws a server's refusal of the very first look
   */
  async #observe(session: Session): Promise<void> {
    const over = AbortSignal.any([session.signal, this.#stop.signal]);
    const roll = new ElectionReader(session, this.path, this.#options.seat);
    let changed = deferred();
    const lookAgain = () => this.#state.name === 'blind' && changed.resolve();
    const forget = onStale(session, () => this.#loseSight(), lookAgain);
    try {
      for (let setbacks = 0; !over.aborted; ) {
        changed = deferred();
        try {
          if (await this.#watch(roll, changed, over)) setbacks = 0;
          // A watch for the creation of what is missing could not be taken back from the servers. So it is asked for
          // again and again, in the end as often as a session pings.
          else await coolDown(session, ++setbacks, over, session.sessionTimeoutMs / 5);
        } catch (error) {
          if (over.aborted) return;
          if (this.#seen === undefined) throw error;
          this.#loseSight();
          this.#report(error);
          await coolDown(session, ++setbacks, over).catch(ignore); // Rejects only if it is over: seen by the loop.
        }
      }
    } finally {
      forget();
    }
  }

  /** Looks, and waits until that may have changed; `false` at once if there is nothing that could be watched. */
  async #watch(roll: ElectionReader, changed: Deferred<void>, over: AbortSignal): Promise<boolean> {
    const given = new AbortController();
    const takeBack = onAbort(over, () => given.abort(over.reason));
    try {
      const sighting = await this.#look(roll, { onChange: () => changed.resolve(), signal: given.signal });
      this.#saw(sighting);
      if (sighting.kind === 'missing') return false;
      await abortable(changed.promise, over);
      return true;
    } finally {
      takeBack();
      given.abort(); // What is watched still, the next look watches for itself.
    }
  }

  /** One look. If it may be behind what was seen before, the server has to catch up first, and then it is the truth. */
  async #look(roll: ElectionReader, watch: Required<ReadOptions>): Promise<LeaderSnapshot> {
    const sighting = await roll.sight(watch);
    if (!isInDoubt(sighting, this.#seen)) return sighting;
    await roll.catchUp(watch.signal);
    return await roll.sight(watch);
  }

  #saw(sighting: LeaderSnapshot): void {
    if (this.#state.name === 'stopped') return;
    this.#seen = sighting;
    if (sighting.kind !== 'missing') this.#note(sighting.recordZxid);
    if (this.#state.name === 'seeing' && isSameLeader(this.#state.sighting, sighting)) return;
    this.#become({ name: 'seeing', sighting });
  }

  /** Whatever may be older than what was seen before was read again by now: a record that went back is the truth. */
  #note(recordZxid: bigint): void {
    const seen = this.#recordZxid;
    this.#recordZxid = recordZxid;
    if (recordZxid < seen) this.#report(new EnsembleResetError(seen, recordZxid));
  }

  #loseSight(): void {
    if (this.#state.name === 'seeing') this.#become({ name: 'blind' });
  }

  /** There is no session any more, or no use in one. */
  #finish(reason: unknown): void {
    // Before the first look `start` tells, and what ends in good order others tell: the session, the supervisor.
    const orderly = [SessionExpiredError, SessionClosedError, InvalidStateError];
    if (this.#seen !== undefined && !orderly.some((type) => reason instanceof type)) this.#report(reason);
    this.#end(reason);
  }

  #end(reason: unknown): void {
    this.#started.reject(reason);
    this.#become({ name: 'stopped' });
    this.#stop.abort(reason);
  }

  /** The only place that writes the state; tells who leads when that is news. */
  #become(next: ObserverState): void {
    const { leader: former, state: previous } = { leader: this.leader, state: this.#state };
    if (previous.name === 'stopped') return;
    this.#state = next;
    switch (next.name) {
      case 'idle':
      case 'starting':
        return;
      case 'stopped':
        for (const backlog of this.#backlogs) backlog.end();
        this.#backlogs.clear();
        return;
      case 'seeing':
      case 'blind': {
        this.#started.resolve();
        const { leader } = this;
        if (leader === former && previous.name !== 'starting') return;
        for (const backlog of this.#backlogs) backlog.push(leader);
        if (leader !== former) this.emit('change', leader);
      }
    }
  }

  #report(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(describe(thrown));
    logError(this.#options.logger, error, 'something went wrong in the observer', this);
    this.emit('error', error);
  }

  /** @internal */
  protected override get knownEvents(): EventNames<ElectionObserverEvents> {
    return OBSERVER_EVENTS;
  }

  protected override reportListenerError(error: ListenerError): void {
    if (error.event === 'error') this.#options.logger.error({ cause: describe(error) }, 'a listener failed');
    else this.#report(error);
  }
}

mark(ElectionObserver, 'ElectionObserver');
showAs(ElectionObserver, ({ path, leader }) => ({ path, leader }));

/** @throws the signal's reason */
function coolDown(
  { clock, environment }: Session,
  setbacks: number,
  signal: AbortSignal,
  longestMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  return sleep(clock, Math.min(longestMs, jitteredPauseMs(setbacks, environment.random())), signal);
}
