/**
 * In which crowds and at which pace handovers are measured.
 *
 * @param {import('./finding.mjs').Bench} bench
 * @returns {import('./handovers.mjs').Setting[]}
 */
export function settingsOf({ quick, crowds = quick ? [15, 100] : [15, 100, 1000] }) {
  const paces = /** @type {const} */ (['at once', 'after a while']);
  const alone = crowds.flatMap((crowd) =>
    paces.map((pace) => ({ servers: /** @type {const} */ (1), crowd, pace })),
  );
  if (quick) return alone.filter(({ crowd, pace }) => pace === 'at once' || crowd === crowds[0]);
  return [...alone, ...paces.map((pace) => ({ servers: /** @type {const} */ (3), crowd: 100, pace }))];
}
