import type { Home } from '../stored/data-formats.js';

/** A home as it was read. */
export interface SeenHome extends Home {
  readonly path: string;
  readonly version: number;
  /** The transaction that wrote it: another one each time that its member leaves. */
  readonly mzxid: bigint;
}

/** What a planner makes of the homes. */
export interface HomeStates {
  /** Those that count: where their shards belong, when their members are there. */
  readonly kept: SeenHome[];
  /** Of those, the ones whose shards wait for their members. */
  readonly awaited: SeenHome[];
  /** Those whose time is over. */
  readonly over: SeenHome[];
  /** How many milliseconds from now one of them won't be so any more. */
  readonly nextMs: number;
}

/** How long a home is kept at least for a member that doesn't come back, or that gets other shards. */
const KEPT_MS = 60_000;

/** Since when homes have been seen, by the clock of a planner. The next planner begins anew. */
export class AbsentMemberHomes {
  /** By the homes' paths. */
  #seen: ReadonlyMap<
    string,
    { readonly mzxid: bigint; readonly since: number; readonly hasReturned: boolean }
  > = new Map();

  /**
   * @param homes - all that there are. One that is no longer among them, or is another one, is forgotten
   * @param live - the ids of the members that are there. A member that came back isn't awaited again before it leaves again
   */
  update(homes: readonly SeenHome[], live: ReadonlySet<string>, now: number): HomeStates {
    const entries = homes.map((home) => {
      const before = this.#seen.get(home.path);
      const known = before?.mzxid === home.mzxid ? before : undefined;
      const hasReturned = known?.hasReturned === true || live.has(home.id);
      return [home, { mzxid: home.mzxid, since: known?.since ?? now, hasReturned }] as const;
    });
    this.#seen = new Map(entries.map(([home, seen]) => [home.path, seen]));
    const left = entries.map(([home, { since, hasReturned }]) => ({
      home,
      keptMs: since + Math.max(KEPT_MS, home.graceMs) - now,
      awaitedMs: hasReturned ? 0 : since + home.graceMs - now,
    }));
    const steps = left.flatMap(({ keptMs, awaitedMs }) => [keptMs, awaitedMs]).filter((ms) => ms > 0);
    return {
      kept: left.filter(({ keptMs }) => keptMs > 0).map(({ home }) => home),
      awaited: left.filter(({ awaitedMs }) => awaitedMs > 0).map(({ home }) => home),
      over: left.filter(({ keptMs }) => keptMs <= 0).map(({ home }) => home),
      nextMs: steps.reduce((next, ms) => Math.min(next, ms), Number.POSITIVE_INFINITY),
    };
  }
}

/** By shard, the id of the member where it belongs. Of several homes the first counts: the others had it only while that one was away. */
export function homesByShard(homes: readonly SeenHome[]): Map<string, string> {
  const latestFirst = [...homes].sort((one, other) => (one.mzxid < other.mzxid ? 1 : -1));
  return new Map(latestFirst.flatMap(({ id, shards }) => shards.map((shard) => [shard, id] as const)));
}

/**
 * Whether a home has served: its member is there, and owns its shards, or is to own those that no live member owns.
 * @param holders - by shard, the node of the live member that owns it
 * @param planned - by shard, the id of the member that is to own it
 * @param node - of the live member with the home's id
 */
export function hasServed(
  { id, shards }: Home,
  holders: ReadonlyMap<string, string>,
  planned: ReadonlyMap<string, string>,
  node: string | undefined,
): boolean {
  if (node === undefined) return false;
  return shards.every((shard) => {
    const holder = holders.get(shard);
    return holder === undefined ? planned.get(shard) === id : holder === node;
  });
}
