import { serializeHome } from '../stored/data-formats.js';
import { type GroupPaths, uuidOf } from '../stored/group-paths.js';
import type { GroupShards } from '../stored/shard-list.js';
import type { HomeNode } from './join-and-leave.js';

/** What a member says about coming back. */
export interface HomeOptions {
  readonly id: string;
  readonly weight: number;
  readonly keepsHome?: boolean | undefined;
  readonly graceMs?: number | undefined;
}

/** Knows what a member owned before it began to leave, or to drain: what is to be its again when it comes back. */
export class StickyAssignment {
  readonly #options: HomeOptions;
  /** While it drains, what it owned before. */
  #ownedBefore: readonly string[] | undefined;

  constructor(options: HomeOptions) {
    this.#options = options;
  }

  /** @param owned - the ids of the shards that it owns at this moment */
  drains(owned: readonly string[]): void {
    this.#ownedBefore ??= owned;
  }

  drainsNoMore(): void {
    this.#ownedBefore = undefined;
  }

  /**
   * The home that the member leaves behind. A member that owned nothing leaves a home of an earlier time as it is.
   * @param member - the name of its node
   * @param owned - the ids of the shards that it owns as it begins to leave
   */
  nodeOf(
    paths: GroupPaths,
    member: string,
    owned: readonly string[],
    shards: GroupShards,
  ): HomeNode | undefined {
    const { id, weight, keepsHome, graceMs = 0 } = this.#options;
    const its = this.#ownedBefore ?? owned;
    if (!keepsHome || its.length === 0) return undefined;
    const home = { id, member: uuidOf(member), weight, graceMs, shards: its };
    return { path: paths.homeOf(id), data: serializeHome(home, shards) };
  }
}
