/** The members among whom the shards are shared out. The index of a member is the same in all three. */
export interface Shares {
  readonly weights: readonly number[];
  /** How many shards are pinned to the member. */
  readonly pinned: Int32Array;
  /** How many the member holds, those that are pinned to it included, and those that are pinned to others not. */
  readonly held: Int32Array;
}

/**
 * How many shards each member is to have. A member with more pins than its quota has those, and no others; the rest is shared out by
 * weight: each of the other members has its quota, rounded down or up. Rounded up are first those that hold more than the quota rounded
 * down, since they would have to give a shard away; then those with the largest remainders; then those that come first.
 * @param count - of all shards, at least as many as are pinned
 */
export function targetsOf(count: number, { weights, pinned, held }: Shares): number[] {
  const quotas = quotasOf(count, weights, pinned);
  const targets = quotas.map((quota, at) =>
    quota === undefined ? (pinned[at] as number) : Math.floor(quota),
  );
  const spare = count - targets.reduce((sum, target) => sum + target, 0);
  const remainders = quotas.map((quota = 0) => quota % 1);
  const remainderOf = (at: number) => remainders[at] as number;
  const gains = (at: number) => Number((held[at] as number) > (targets[at] as number));
  const inOrder = Array.from(weights.keys())
    .filter((at) => remainderOf(at) > 0)
    .sort((one, other) => gains(other) - gains(one) || remainderOf(other) - remainderOf(one) || one - other);
  for (const at of inOrder.slice(0, spare)) targets[at] = (targets[at] as number) + 1;
  return targets;
}

/** By weight, of what is left by those that have more pins than that: these have no quota. */
function quotasOf(count: number, weights: readonly number[], pinned: Int32Array): (number | undefined)[] {
  let sharing = weights.map(() => true);
  for (;;) {
    const unit = unitOf(weights.filter((_, at) => sharing[at]));
    let left = count;
    let sum = 0;
    for (let at = 0; at < weights.length; at++)
      if (sharing[at]) sum += (weights[at] as number) / unit;
      else left -= pinned[at] as number;
    const quotas = weights.map((weight, at) =>
      sharing[at] ? exact((left * (weight / unit)) / sum) : undefined,
    );
    const stays = quotas.map((quota, at) => quota !== undefined && (pinned[at] as number) <= quota);
    // Without them there is less for each of the others than before, so none comes back.
    if (stays.every((each, at) => each === sharing[at])) return quotas;
    sharing = stays;
  }
}

/**
 * The number by which weights are divided, so that no sum, product or quotient of them overflows: the largest is about 1 then. It is a
 * power of two, so the division rounds only what is far too small to count.
 */
export function unitOf(weights: readonly number[]): number {
  const largest = weights.reduce((most, weight) => Math.max(most, weight), 0);
  return 2 ** Math.min(Math.floor(Math.log2(largest)), 1023);
}

/** A whole number where the quotient is one but for rounding. */
function exact(quotient: number): number {
  const whole = Math.round(quotient);
  return Math.abs(quotient - whole) <= 1e-9 * Math.max(1, whole) ? whole : quotient;
}
