/** What is known of a member when the shards are shared out. */
export interface Share {
  readonly weight: number;
  /** How many shards are pinned to it. */
  readonly pinned: number;
  /** How many it holds, those that are pinned to it included, and those that are pinned to others not. */
  readonly held: number;
}

/**
 * How many shards each member is to have. A member with more pins than its quota has those, and no others; the rest is shared out by
 * weight: each of the other members has its quota, rounded down or up. Rounded up are first those that hold more than the quota rounded
 * down, since they would have to give a shard away; then those with the largest remainders; then those that come first.
 * @param count - of all shards, at least as many as are pinned
 */
export function targetsOf(count: number, members: readonly Share[]): number[] {
  const quotas = quotasOf(count, members);
  const targets = members.map(({ pinned }, at) =>
    quotas[at] === undefined ? pinned : Math.floor(quotas[at]),
  );
  const spare = count - targets.reduce((sum, target) => sum + target, 0);
  const remainderOf = (at: number) => (quotas[at] ?? 0) % 1;
  const gains = (at: number) => Number((members[at]?.held ?? 0) > (targets[at] as number));
  const inOrder = [...members.keys()]
    .filter((at) => remainderOf(at) > 0)
    .sort((one, other) => gains(other) - gains(one) || remainderOf(other) - remainderOf(one) || one - other);
  for (const at of inOrder.slice(0, spare)) targets[at] = (targets[at] as number) + 1;
  return targets;
}

/** By weight, of what is left by those that have more pins than that: these have no quota. */
function quotasOf(count: number, members: readonly Share[]): (number | undefined)[] {
  let sharing = members.map(() => true);
  for (;;) {
    const sum = (value: (member: Share) => number, shares: boolean) =>
      members.reduce((total, member, at) => (sharing[at] === shares ? total + value(member) : total), 0);
    const left = count - sum(({ pinned }) => pinned, false);
    const weights = sum(({ weight }) => weight, true);
    const quotas = members.map(({ weight }, at) =>
      sharing[at] ? exact((left * weight) / weights) : undefined,
    );
    const stays = members.map(({ pinned }, at) => quotas[at] !== undefined && pinned <= quotas[at]);
    // Without them there is less for each of the others than before, so none comes back.
    if (stays.every((each, at) => each === sharing[at])) return quotas;
    sharing = stays;
  }
}

/** A whole number where the quotient is one but for rounding. */
function exact(quotient: number): number {
  const whole = Math.round(quotient);
  return Math.abs(quotient - whole) <= 1e-9 * Math.max(1, whole) ? whole : quotient;
}
