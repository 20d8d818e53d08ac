import { EnsembleResetError } from '../../errors.js';
import type { StartOptions } from '../../platform/async/start-with-signal.js';
import { checkOptions, checkPath } from '../../platform/checks.js';
import { DropOldestQueue } from '../../platform/collections/drop-oldest-queue.js';
import { type Logger, withFields } from '../../platform/logging/logger.js';
import { type Reporting, ReportingEmitter } from '../../platform/logging/reporting-emitter.js';
import { mark } from '../../public-class/instance-brand.js';
import { showAs } from '../../public-class/shown-in-console.js';
import { ObserverLife } from '../../session/observers/observer-lifecycle.js';
import { type ObserverSource, resolveSource } from '../../session/observers/observer-sessions.js';
import type { Session } from '../../session/session.js';
import { type SessionOptions, WITHIN_SESSION } from '../../session/session-options.js';
import type { SessionSource } from '../../session/session-source.js';
import type { Candidate } from '../candidates/candidate.js';
import { LeaderWatch } from './leader-watch.js';
import {
  type ElectionObserverEvents,
  lastReadOf,
  OBSERVER_EVENTS,
  type ObserverState,
  type Seeing,
  seeing,
} from './observer-state.js';

/** How many changes wait for the consumer of an iterator that doesn't keep up. */
const LONGEST_QUEUE = 1000;

/**
 * Watches who leads an election without taking part in it. It only reads: it needs no right to write, and creates
 * nothing, not even a missing election, since that would get the wrong access list.
 *
 * Guaranteed: it shows leaders in the order in which they led, and never goes back to an earlier leader or to what a leader advertised
 * earlier, also when its sessions change or a server is behind; it shows nothing twice in a row. Not guaranteed: every state in between.
 * The record is vacant for a moment between two terms, unless a candidate takes over from a leader that is silent, and a term may end
 * before the observer has read it. So the `undefined` between two leaders may be seen or not.
 *
 * It shows what the servers said a moment ago. It shows a leader whose lease has ended until the leader's node is gone,
 * so it is no proof of leadership: a leader asks its own `term`.
 *
 * While the connection is lost it keeps what it has read last, because a lost connection demotes no leader.
 * When it can no longer know the leader it shows `undefined`: after a session timeout without a server, from
 * the end of a session to the first read with the next one, and while a server refuses to let it read.
 *
 * With a {@link Session} it ends with that session. With a connect string, for which it opens its own sessions, or with an
 * `ElectionSupervisor`, whose sessions it uses, it goes on with the next session.
 *
 * @example
 * ```ts
 * const observer = new ElectionObserver('zk1:2181,zk2:2181,zk3:2181', '/elections/scheduler');
 * observer.on('error', (error) => console.error(error));
 * await observer.start();
 * for await (const leader of observer) console.log(leader?.id ?? 'no leader');
 * ```
 */
export class ElectionObserver
  extends ReportingEmitter<ElectionObserverEvents>
  implements AsyncIterable<Candidate | undefined>
{
  /** The election's path. */
  readonly path: string;
  readonly #logger: Logger;
  readonly #life: ObserverLife;
  readonly #iterators = new Set<DropOldestQueue<Candidate | undefined>>();
  #state: ObserverState = { name: 'unread' };

  /**
   * @param session - a session, which is left open; a connect string, or a function that gives one; or a supervisor
   * @throws InvalidOptionError if the session, the path or an option is wrong
   */
  constructor(
    session: Session | SessionSource | string | (() => string | Promise<string>),
    path: string,
    options?: ElectionObserverOptions,
  ) {
    super();
    this.path = checkPath('path', path);
    const { logger, ...source } = resolveObserverOptions(session, options, (error) => this.report(error));
    this.#logger = withFields(logger, { election: path });
    this.#life = new ObserverLife(source, {
      follow: (each, ended) => this.#follow(each, ended),
      onBlind: () => this.#loseSight(),
      onStopped: () => this.#become({ name: 'stopped' }),
      onError: (error) => this.report(error),
    });
  }

  /** The leader that the last `change` reported. `undefined` if none is known, before `start` and after `stop`. */
  get leader(): Candidate | undefined {
    return this.#state.name === 'seeing' ? this.#state.leader : undefined;
  }

  /**
   * Begins to observe. Resolves after the first read, also if there is no such election; with a connect string or a supervisor, however
   * long it takes until there is a session. A second call returns the promise of the first one. Handle its rejection, as with any promise.
   * A rejection because the observer was stopped needn't be handled.
   *
   * @throws InvalidOptionError if an option is wrong, or the reason of `options.signal` if that aborts before
   * @throws InvalidStateError if the observer was stopped, before or meanwhile, or its supervisor was
   * @throws SessionExpiredError, SessionClosedError if the session it was given ends before
   * @throws AuthenticationError if the servers refuse the credentials: it is stopped then
   * @throws ZooKeeperError if a server refuses, for lack of permission for example; the observer then stops
   */
  start(options?: StartOptions): Promise<void> {
    return this.#life.start(options);
  }

  /**
   * Stops observing: no event comes after it, and its iterators end. Resolves when its own sessions are closed, after
   * 2 s at most. Nothing of it is left, in this process or at a server. Never rejects.
   */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** Stops it, for `await using`: the same as `stop()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Gives each iterator the present leader as soon as the first read is done, then every change. It ends without an error
   * when the observer does, after the changes that still wait. A consumer that is over 1000 changes behind misses the oldest.
   */
  // Not an AsyncIterableIterator: before TypeScript 5.6 that type doesn't say what a finished iterator gives.
  [Symbol.asyncIterator](): AsyncIterator<Candidate | undefined, undefined> &
    AsyncIterable<Candidate | undefined> {
    const iterator = new DropOldestQueue<Candidate | undefined>(LONGEST_QUEUE, () =>
      this.#iterators.delete(iterator),
    );
    if (this.#state.name === 'stopped') iterator.end();
    else this.#iterators.add(iterator);
    if (lastReadOf(this.#state) !== undefined) iterator.push(this.leader);
    return iterator;
  }

  #follow(session: Session, ended: AbortSignal): Promise<void> {
    const watch = new LeaderWatch(
      session,
      {
        path: this.path,
        state: () => this.#state,
        onRead: (snapshot) => this.#see(seeing(this.#state, snapshot)),
        onBlind: () => this.#loseSight(),
        onError: (error) => this.report(error),
      },
      ended,
    );
    return watch.run();
  }

  #see(next: Seeing): void {
    const before = lastReadOf(this.#state)?.recordZxid ?? 0n;
    // The server had caught up before it said so: the record did go back, so the ensemble has lost its data.
    if (next.recordZxid < before) this.report(new EnsembleResetError(before, next.recordZxid));
    this.#become(next);
  }

  #loseSight(): void {
    if (this.#state.name !== 'seeing') return;
    const { snapshot, recordZxid } = this.#state;
    this.#become({ name: 'blind', snapshot, recordZxid });
  }

  /** The only place that writes the state; reports the leader if it is another one. */
  #become(next: Exclude<ObserverState, { name: 'unread' }>): void {
    const { leader: former, state: previous } = { leader: this.leader, state: this.#state };
    if (previous.name === 'stopped') return;
    this.#state = next;
    switch (next.name) {
      case 'stopped':
        for (const iterator of this.#iterators) iterator.end();
        this.#iterators.clear();
        return;
      case 'seeing':
      case 'blind': {
        this.#life.hasRead();
        const { leader } = this;
        if (leader === former && previous.name !== 'unread') return;
        for (const iterator of this.#iterators) iterator.push(leader);
        if (leader !== former) this.emit('change', leader);
      }
    }
  }

  /** @internal */
  protected override get reporting(): Reporting<ElectionObserverEvents> {
    return { events: OBSERVER_EVENTS, logger: this.#logger, message: 'something went wrong in the observer' };
  }
}

mark(ElectionObserver, 'ElectionObserver');
showAs(ElectionObserver, ({ path, leader }) => ({ path, leader }));

/** Options of an `ElectionObserver`. */
export interface ElectionObserverOptions {
  /** How it opens its sessions: with a connect string only. Without `signal`, because `stop()` ends them. */
  readonly session?: Omit<SessionOptions, 'signal'>;
  /**
   * Any logger with pino's methods. @default the session's, else pino at the level of CONCLAVE_LOG_LEVEL, else warnings and
   * errors on stderr
   */
  readonly logger?: Logger;
}

const KNOWN = ['session', 'logger'] as const;

/** @param onError - receives the errors of sessions that the observer has opened. @throws InvalidOptionError @internal */
export function resolveObserverOptions(
  from: unknown,
  given: unknown,
  onError: (error: unknown) => void,
): ObserverSource {
  const options = checkOptions<ElectionObserverOptions>('observer', given, KNOWN, WITHIN_SESSION);
  return resolveSource(from, options, { onError, supervisor: 'an ElectionSupervisor' });
}
