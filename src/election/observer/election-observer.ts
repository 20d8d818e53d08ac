import { checkOptions, checkPath } from '../../platform/checks.js';
import type { Logger } from '../../platform/logging/logger.js';
import type { Reporting } from '../../platform/logging/reporting-emitter.js';
import type { EventNames } from '../../platform/safe-emitter.js';
import { mark } from '../../public-class/instance-brand.js';
import { showAs } from '../../public-class/shown-in-console.js';
import { DATA, FollowedNode } from '../../session/observers/followed-node.js';
import { Observer, type ReadingListener } from '../../session/observers/observer.js';
import { type ObserverSource, resolveSource } from '../../session/observers/observer-sessions.js';
import type { NodeData } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { type SessionOptions, WITHIN_SESSION } from '../../session/session-options.js';
import type { SessionSource } from '../../session/session-source.js';
import type { Candidate } from '../candidates/candidate.js';
import {
  holderOf,
  isSameLeader,
  type LeaderSnapshot,
  leaderOf,
  snapshotOf,
} from '../record/leader-snapshot.js';

/** The events of an `ElectionObserver`. They inform, a moment late: no code may act on them as if it led. */
export interface ElectionObserverEvents {
  /** Another candidate leads, the leader advertises something else, or (`undefined`) no leader is known. */
  change(leader: Candidate | undefined): void;
  /** Something went wrong: a server refused, and the observer tries again; or a listener threw. */
  error(error: Error): void;
}

/** @internal */
export const OBSERVER_EVENTS: EventNames<ElectionObserverEvents> = { change: true, error: true };

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
  extends Observer<LeaderSnapshot, Candidate | undefined, ElectionObserverEvents>
  implements AsyncIterable<Candidate | undefined>
{
  /** The election's path. */
  readonly path: string;
  /** What was read last, while the observer sees. */
  #seen: { readonly snapshot: LeaderSnapshot; readonly leader: Candidate | undefined } | undefined;

  /**
   * @param session - a session, which is left open; a connect string, or a function that gives one; or a supervisor
   * @throws InvalidOptionError if the session, the path or an option is wrong
   */
  constructor(
    session: Session | SessionSource | string | (() => string | Promise<string>),
    path: string,
    options?: ElectionObserverOptions,
  ) {
    const election = checkPath('path', path);
    super((onError) => resolveObserverOptions(session, options, onError), { election }, LONGEST_QUEUE);
    this.path = path;
  }

  /** The leader that the last `change` reported. `undefined` if none is known, before `start` and after `stop`. */
  get leader(): Candidate | undefined {
    return this.isSeeing ? this.#seen?.leader : undefined;
  }

  /**
   * Gives each iterator the present leader as soon as the first read is done, then every change. It ends without an error
   * when the observer does, after the changes that still wait. A consumer that is over 1000 changes behind misses the oldest.
   */
  // Not an AsyncIterableIterator: before TypeScript 5.6 that type doesn't say what a finished iterator gives.
  [Symbol.asyncIterator](): AsyncIterator<Candidate | undefined, undefined> &
    AsyncIterable<Candidate | undefined> {
    return this.iterate();
  }

  /** @internal */
  protected override read(session: Session, listener: ReadingListener<LeaderSnapshot>): LeaderReading {
    return new LeaderReading(session, this.path, listener);
  }

  /** @internal A leader who is still the same stays the same object: it isn't reported again. */
  protected override see(snapshot: LeaderSnapshot): boolean {
    const former = this.#seen;
    const isSame = former !== undefined && isSameLeader(former.snapshot, snapshot);
    const leader = isSame ? former.leader : leaderOf(snapshot);
    this.#seen = { snapshot, leader };
    if (leader === former?.leader) return false;
    this.tell(leader);
    return true;
  }

  /** @internal */
  protected override loseSight(): void {
    const former = this.#seen?.leader;
    this.#seen = undefined;
    if (former !== undefined) this.tell(undefined);
  }

  /** @internal */
  protected override get shown(): Candidate | undefined {
    return this.leader;
  }

  /** @internal */
  protected override get reporting(): Reporting<ElectionObserverEvents> {
    return { events: OBSERVER_EVENTS, logger: this.logger, message: 'something went wrong in the observer' };
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

/** Reads who leads an election, with one session, and again whenever that may have changed: its record, and the node that this names. */
export class LeaderReading {
  readonly #session: Session;
  readonly #path: string;
  readonly #listener: ReadingListener<LeaderSnapshot>;
  readonly #record: FollowedNode<NodeData>;
  #election: NodeData | undefined;
  #holder: { readonly name: string; readonly node: FollowedNode<NodeData>; data?: NodeData } | undefined;

  constructor(session: Session, path: string, listener: ReadingListener<LeaderSnapshot>) {
    this.#session = session;
    this.#path = path;
    this.#listener = listener;
    const record = {
      read: (node: NodeData) => this.#recorded(node),
      missing: () => this.#recorded(undefined),
      failed: listener.onFailed,
    };
    this.#record = new FollowedNode(session, path, DATA, record, { whenMissing: 'wait' });
  }

  stop(): void {
    this.#record.stop();
    this.#holder?.node.stop();
  }

  #recorded(election: NodeData | undefined): void {
    this.#election = election;
    const name = election && holderOf(election)?.entry.node;
    if (name !== this.#holder?.name) {
      this.#holder?.node.stop();
      this.#holder = name === undefined ? undefined : { name, node: this.#follow(name) };
    }
    this.#report();
  }

  #follow(name: string): FollowedNode<NodeData> {
    const listener = {
      read: (data: NodeData) => this.#readHolder(data),
      missing: () => this.#readHolder(undefined),
      failed: this.#listener.onFailed,
    };
    return new FollowedNode(this.#session, `${this.#path}/${name}`, DATA, listener, { whenMissing: 'end' });
  }

  /** The transaction that has changed or deleted the node may have written the record, too. So the record is read again first. */
  #readHolder(data: NodeData | undefined): void {
    const isFirst = this.#holder?.data === undefined;
    if (data === undefined) this.#holder = undefined;
    else if (this.#holder !== undefined) this.#holder.data = data;
    if (isFirst) this.#report();
    else if (!this.#record.isStale) this.#record.again();
  }

  #report(): void {
    if (this.#record.isStale || this.#holder?.node.isStale === true) return;
    this.#listener.onRead(snapshotOf(this.#election, this.#holder?.data));
  }
}
