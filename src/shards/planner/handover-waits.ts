import type { PlannerSnapshot } from './planner-snapshot.js';

/** A shard that passes from a member that owns it to one that is to prepare for it first. Members are named by their nodes. */
export interface Handover {
  readonly shard: string;
  readonly from: string;
  readonly to: string;
}

/**
 * The shards whose owners are to keep them until the next ones are ready: of those that are planned for members that prepare, what others
 * own. An owner that was told to give its shard back isn't told otherwise, since that has begun: its plan lacks the shard. A plan for
 * another list of names doesn't tell. An owner doesn't keep what it refuses.
 * @param holders - by shard, the node of the live member that owns it
 * @param planned - by shard, the id of the member that is to own it
 */
export function handoversOf(
  { members, plans, reports }: PlannerSnapshot,
  holders: ReadonlyMap<string, string>,
  planned: ReadonlyMap<string, string>,
): Handover[] {
  const byId = new Map([...members.values()].map((member) => [member.id, member]));
  const setsOf = (of: (node: string) => readonly string[] | undefined) =>
    new Map([...members.keys()].map((node) => [node, new Set(of(node))]));
  const ready = setsOf((node) => reports.get(node)?.ready);
  const refused = setsOf((node) => reports.get(node)?.refused);
  const former = setsOf((node) => {
    const shards = plans.get(node)?.shards;
    return shards === 'unknown' ? undefined : shards;
  });
  const wasKept = (shard: string, node: string) =>
    plans.get(node)?.shards === 'unknown' || former.get(node)?.has(shard) === true;
  return [...planned].flatMap(([shard, id]) => {
    const [from, next] = [holders.get(shard), byId.get(id)];
    if (from === undefined || next === undefined || next.node === from || !next.prepares) return [];
    const isKept = wasKept(shard, from) && refused.get(from)?.has(shard) !== true;
    return isKept && ready.get(next.node)?.has(shard) !== true ? [{ shard, from, to: next.node }] : [];
  });
}

/**
 * How long an owner keeps a shard for a member that doesn't get ready, in milliseconds. Loading a shard's state takes seconds, and meanwhile
 * the shard has an owner: waiting costs only balance.
 */
export const PREPARED_WAIT_MS = 30_000;

/** Since when handovers wait, by the clock of a planner. The next planner begins anew. */
export class HandoverWaits {
  /** By shard. */
  #waits: ReadonlyMap<string, { readonly to: string; readonly since: number }> = new Map();

  /**
   * Those that wait on, of all that there are now, and how many milliseconds from now the next of them has waited for long enough. One that
   * is no longer among them, or goes to another member, is forgotten.
   */
  update(
    handovers: readonly Handover[],
    now: number,
  ): { readonly waiting: Handover[]; readonly nextMs: number } {
    const sinceOf = ({ shard, to }: Handover) => {
      const wait = this.#waits.get(shard);
      return wait?.to === to ? wait.since : now;
    };
    this.#waits = new Map(handovers.map((each) => [each.shard, { to: each.to, since: sinceOf(each) }]));
    const leftMs = (each: Handover) => sinceOf(each) + PREPARED_WAIT_MS - now;
    const waiting = handovers.filter((each) => leftMs(each) > 0);
    const nextMs = waiting.reduce((next, each) => Math.min(next, leftMs(each)), Number.POSITIVE_INFINITY);
    return { waiting, nextMs };
  }
}
