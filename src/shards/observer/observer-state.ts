import type { EventNames } from '../../platform/safe-emitter.js';
import type { GroupView, OwnerChanges } from './group-view.js';

/**
 * What an observer sees.
 *
 * - `unread`: nothing was read yet: `start()` hasn't resolved.
 * - `seeing`: `view` has who owns what, by the last reads.
 * - `blind`: it can no longer read: it has no session, or no server for a session timeout, or a server refuses.
 * - `stopped`: final.
 *
 * unread → seeing ⇄ blind; any → stopped.
 */
export type ShardObserverState =
  | { readonly name: 'unread' | 'blind' | 'stopped' }
  | { readonly name: 'seeing'; readonly view: GroupView };

/** The events of a `ShardObserver`. They inform, a moment late: no code may act on them as if it owned a shard. */
export interface ShardObserverEvents {
  /**
   * Shards have other owners, or none that is known (`undefined`): by the ids of the shards, only the shards
   * that have changed. A member that joins again is another owner, even with the same id.
   */
  change(changes: OwnerChanges): void;
  /** Something went wrong: a server refused, and the observer tries again; or a listener threw. */
  error(error: Error): void;
}

/** @internal */
export const SHARD_OBSERVER_EVENTS: EventNames<ShardObserverEvents> = { change: true, error: true };
