import { InvalidStateError } from '../../errors.js';
import { checkOptions, checkPath } from '../../platform/checks.js';
import type { Logger } from '../../platform/logging/logger.js';
import type { Reporting } from '../../platform/logging/reporting-emitter.js';
import type { EventNames } from '../../platform/safe-emitter.js';
import { mark } from '../../public-class/instance-brand.js';
import { showAs } from '../../public-class/shown-in-console.js';
import { Observer, type ReadingListener } from '../../session/observers/observer.js';
import { resolveSource } from '../../session/observers/observer-sessions.js';
import type { Session } from '../../session/session.js';
import { type SessionOptions, WITHIN_SESSION } from '../../session/session-options.js';
import type { SessionSource } from '../../session/session-source.js';
import { shardOf } from '../shard-of-key.js';
import { GroupPaths } from '../stored/group-paths.js';
import { GroupReading } from './group-reading.js';
import type { GroupView, ShardMember } from './group-view.js';

/** Options of a `ShardObserver`. */
export interface ShardObserverOptions {
  /** How it opens its sessions: with a connect string only. Without `signal`, because `stop()` ends them. */
  readonly session?: Omit<SessionOptions, 'signal'>;
  /**
   * Any logger with pino's methods. @default the session's, else pino at the level of CONCLAVE_LOG_LEVEL, else warnings and
   * errors on stderr
   */
  readonly logger?: Logger;
}

/** The events of a `ShardObserver`. They inform, a moment late: no code may act on them as if it owned a shard. */
export interface ShardObserverEvents {
  /**
   * Shards have other owners, or none that is known (`undefined`): by the ids of the shards, only the shards
   * that have changed. A member that joins again is another owner, even with the same id.
   */
  change(changes: ReadonlyMap<string, ShardMember | undefined>): void;
  /** Something went wrong: a server refused, and the observer tries again; or a listener threw. */
  error(error: Error): void;
}

/** @internal */
export const SHARD_OBSERVER_EVENTS: EventNames<ShardObserverEvents> = { change: true, error: true };

type Owners = ReadonlyMap<string, ShardMember>;

const NO_OWNERS: Owners = new Map();

/**
 * Watches who owns which shard of a group without taking part in it: for processes that send work to the owner of a key. It only reads: it
 * needs no right to write, and creates nothing. If the group is missing, the observer waits for it.
 *
 * **What it says is a hint, and may be outdated at once.** A shard may move between the answer and the use of it. So the receiver checks
 * `shard.isHeld()` before it acts, or the resource checks the shard's token.
 *
 * Guaranteed: after a change it shows, in the end, what the members have published; `change` has each shard whose owner has changed, and no
 * others. Not guaranteed: every state in between. Between two owners it may show a shard without one, or not. It shows a silent member as
 * the owner until another member has taken over from it.
 *
 * While the connection is lost it keeps what it has read last, because a lost connection takes no shard from
 * its owner. When it can no longer know the owners it shows none: after a session timeout without a server,
 * from the end of a session to the first read with the next one, and while a server refuses to let it read.
 *
 * With a {@link Session} it ends with that session. With a connect string, for which it opens its own sessions, or with a supervisor, whose
 * sessions it uses, it goes on with the next session.
 *
 * It sets two watches and one more for each member, however many shards there are. A change of what a member owns takes one read; members
 * that come and go take one listing, and two reads for each that is new.
 *
 * @example
 * ```ts
 * const observer = new ShardObserver('zk1:2181,zk2:2181,zk3:2181', '/shards/orders');
 * observer.on('error', (error) => console.error(error));
 * await observer.start();
 * console.log(observer.ownerOf('order-17')?.data ?? 'no owner is known');
 * ```
 */
export class ShardObserver
  extends Observer<GroupView, Owners, ShardObserverEvents>
  implements AsyncIterable<Owners>
{
  /** The group's path. */
  readonly path: string;
  readonly #paths: GroupPaths;
  /** What was read last, while the observer sees. */
  #seen: GroupView | undefined;

  /**
   * @param session - a session, which is left open; a connect string, or a function that gives one; or a supervisor
   * @param path - the group's, as its members have it
   * @throws InvalidOptionError if the session, the path or an option is wrong
   */
  constructor(
    session: Session | SessionSource | string | (() => string | Promise<string>),
    path: string,
    options?: ShardObserverOptions,
  ) {
    const group = checkPath('path', path);
    const known = () =>
      checkOptions<ShardObserverOptions>('observer', options, ['session', 'logger'], WITHIN_SESSION);
    super(
      (onError) => resolveSource(session, known(), { onError, supervisor: 'a supervisor' }),
      { group },
      1,
    );
    this.path = path;
    this.#paths = new GroupPaths(path);
  }

  /**
   * The owners that the last `change` reported, by the ids of the shards, without the shards that have none. Empty if none is known, before
   * `start` and after `stop`. This map stays as it is: the next change makes another one.
   */
  get owners(): ReadonlyMap<string, ShardMember> {
    return this.#view?.owners ?? NO_OWNERS;
  }

  /**
   * The members of the group, in the order in which they have come. Empty if none is known. A member that
   * owns nothing and whose session expires is shown until another member joins or leaves.
   */
  get members(): readonly ShardMember[] {
    return this.#view?.members ?? [];
  }

  /**
   * The owner of the shard to which this key belongs by `shardOf`, in a group whose shards were given by number. A hint: see {@link
   * ShardObserver}.
   *
   * @returns `undefined` if the shard has no owner, or the owner isn't known, or no longer known
   * @throws InvalidOptionError unless the key is a string or bytes
   * @throws InvalidStateError if the group's shards have names, so that no key belongs to one
   */
  ownerOf(key: string | Uint8Array): ShardMember | undefined {
    const list = this.#view?.list;
    const shard = shardOf(key, list?.count ?? 1);
    if (list === undefined) return undefined;
    if (!list.isNumbered)
      throw new InvalidStateError(`${this.path} has ${list}: ask ownerOfShard() with one of them`);
    return this.ownerOfShard(String(shard));
  }

  /**
   * The owner of the shard with this id. A hint: see {@link ShardObserver}.
   *
   * @returns `undefined` if the shard has no owner, there is no such shard, or the owner isn't known, or no longer known
   */
  ownerOfShard(id: string): ShardMember | undefined {
    return this.#view?.ownerOf(id);
  }

  /**
   * Gives each iterator the present owners as soon as the first read is done, then all owners after every change. It ends without an error
   * when the observer does, after the owners that still wait. A consumer that doesn't keep up gets only the newest ones.
   */
  // Not an AsyncIterableIterator: before TypeScript 5.6 that type doesn't say what a finished iterator gives.
  [Symbol.asyncIterator](): AsyncIterator<ReadonlyMap<string, ShardMember>, undefined> &
    AsyncIterable<ReadonlyMap<string, ShardMember>> {
    return this.iterate();
  }

  get #view(): GroupView | undefined {
    return this.isSeeing ? this.#seen : undefined;
  }

  /** @internal */
  protected override read(session: Session, listener: ReadingListener<GroupView>): GroupReading {
    return new GroupReading(session, this.#paths, listener);
  }

  /** @internal */
  protected override see(view: GroupView): boolean {
    const changes = view.settle();
    this.#seen = view;
    if (changes.size > 0) this.tell(changes);
    return changes.size > 0;
  }

  /** @internal */
  protected override loseSight(): void {
    const owned = [...(this.#seen?.owners.keys() ?? [])];
    this.#seen = undefined;
    if (owned.length > 0) this.tell(new Map(owned.map((shard) => [shard, undefined])));
  }

  /** @internal */
  protected override get shown(): Owners {
    return this.owners;
  }

  /** @internal */
  protected override get reporting(): Reporting<ShardObserverEvents> {
    return {
      events: SHARD_OBSERVER_EVENTS,
      logger: this.logger,
      message: 'something went wrong in the observer',
    };
  }
}

mark(ShardObserver, 'ShardObserver');
showAs(ShardObserver, ({ path, owners }) => ({ path, owners: owners.size }));
