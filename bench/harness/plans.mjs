const CROWDS = [15, 100, 1000];
const QUICK_CROWDS = [15, 50];

/** @typedef {import('./handovers.mjs').Pace} Pace */

/**
 * The numbers of contenders and paces for which handovers are measured.
 *
 * @param {import('./finding.mjs').Bench} bench
 * @param {readonly Pace[]} quickPaces the paces for a quick run
 * @returns {import('./handovers.mjs').Plan[]}
 */
export function plansOf({ quick, rounds, crowds: asked }, quickPaces) {
  const crowds = asked ?? (quick ? QUICK_CROWDS : CROWDS);
  if (quick)
    return quickPaces.map((pace) =>
      pace === 'at once'
        ? { servers: 1, pace, crowds, rounds }
        : { servers: 1, pace, crowds: crowds.slice(0, 1), rounds: 1 },
    );
  return /** @type {const} */ (['at once', 'after a while']).flatMap((pace) => [
    { servers: /** @type {const} */ (1), pace, crowds, rounds },
    { servers: /** @type {const} */ (1), pace, isAway: true, crowds: crowds.slice(0, 1), rounds },
    { servers: /** @type {const} */ (3), pace, crowds: [100], rounds },
  ]);
}
