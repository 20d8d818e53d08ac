import { exponentialPauseMs } from '../../platform/retry/backoff.js';
import type { SeenMember } from '../members/member-watch.js';

/** A member that is gone sooner than this after a plan gave it shards has not kept them. Members notice its end within a lease or two. */
const SOON_MS = 20_000;
// For so long members that have come since get no shards: one of them may be the same process. The pause is longer each time.
const FIRST_PAUSE_MS = 10_000;
export const LONGEST_PASSED_OVER_MS = 60_000;
const IN_A_ROW_WITHIN_MS = 300_000;

/**
 * Passes over members that may be the process of one that ended soon after it got shards, and was started again: it would get them again,
 * and end again. The planner goes by what it has seen. The process remembers nothing of that, and may have another id. The next planner
 * begins anew.
 */
export class ShortLivedMembers {
  /** By the nodes of members: when they were seen first, and since when plans have given them shards. */
  readonly #members = new Map<
    string,
    { readonly id: string; readonly seenAt: number; servesSince?: number }
  >();
  #last:
    | { readonly servedSince: number; readonly at: number; readonly count: number; readonly until: number }
    | undefined;

  /**
   * The nodes of the members that get no shards for now. None, if that would leave no other member.
   * @param left - the ids of members that have left in good order
   */
  passedOver(
    present: readonly Pick<SeenMember, 'node' | 'id'>[],
    left: ReadonlySet<string>,
    now: number,
  ): { readonly nodes: ReadonlySet<string>; readonly nextMs: number } {
    const there = new Set(present.map(({ node }) => node));
    for (const [node, { id, servesSince }] of this.#members) {
      if (there.has(node)) continue;
      this.#members.delete(node);
      if (servesSince !== undefined && now - servesSince < SOON_MS && !left.has(id))
        this.#note(servesSince, now);
    }
    for (const { node, id } of present)
      if (!this.#members.has(node)) this.#members.set(node, { id, seenAt: now });
    const { servedSince = 0, until = now } = this.#last ?? {};
    if (until <= now) return { nodes: new Set(), nextMs: Number.POSITIVE_INFINITY };
    const isNew = (node: string) => {
      const { seenAt = 0, servesSince } = this.#members.get(node) ?? {};
      return servesSince === undefined && seenAt > servedSince;
    };
    const nodes = [...there].filter(isNew);
    return { nodes: new Set(nodes.length < there.size ? nodes : []), nextMs: until - now };
  }

  /** @param nodes - of the members to which the newest plan gives shards */
  gave(nodes: ReadonlySet<string>, now: number): void {
    for (const [node, member] of this.#members) {
      if (!nodes.has(node)) delete member.servesSince;
      else member.servesSince ??= now;
    }
  }

  #note(servedSince: number, now: number): void {
    const before =
      this.#last !== undefined && now - this.#last.at < IN_A_ROW_WITHIN_MS ? this.#last.count : 0;
    const count = before + 1;
    const until = now + exponentialPauseMs(count, FIRST_PAUSE_MS, LONGEST_PASSED_OVER_MS);
    this.#last = { servedSince, at: now, count, until };
  }
}
