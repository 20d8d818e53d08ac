const CROWDS = [15, 100, 1000];

/**
 * In which crowds and at which pace handovers are measured.
 *
 * @param {import('./finding.mjs').Bench} bench
 * @param {readonly number[]} quickCrowds
 * @returns {import('./handovers.mjs').Plan[]}
 */
export function plansOf({ quick, crowds: asked }, quickCrowds) {
  const crowds = asked ?? (quick ? quickCrowds : CROWDS);
  if (quick)
    return [
      { servers: 1, pace: 'at once', crowds },
      { servers: 1, pace: 'after a while', crowds: crowds.slice(0, 1) },
    ];
  return /** @type {const} */ (['at once', 'after a while']).flatMap((pace) => [
    { servers: /** @type {const} */ (1), pace, crowds },
    { servers: /** @type {const} */ (3), pace, crowds: [100] },
  ]);
}
