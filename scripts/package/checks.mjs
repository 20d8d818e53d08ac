/** @typedef {{ name: string, check: () => Promise<unknown> }} Check - it rejects with what is wrong */

/** As many at a time as a small machine has processors. */
const AT_A_TIME = 2;

/**
 * Runs checks, says of each in a line what came of it, and of those that failed why. One that fails stops no other.
 *
 * @param {readonly Check[]} checks
 * @param {(line: string) => void} say
 * @returns {Promise<number>} how many failed
 */
export async function runChecks(checks, say) {
  const waiting = [...checks];
  /** @type {string[]} */
  const failures = [];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const startedAt = performance.now();
      const why = await next.check().then(
        () => undefined,
        (error) => (error instanceof Error ? error.message : String(error)),
      );
      const tookMs = Math.round(performance.now() - startedAt);
      say(`${why === undefined ? '✓' : '✗'} ${next.name} (${tookMs} ms)`);
      if (why !== undefined) failures.push(`✗ ${next.name}\n${why.trim().replaceAll(/^/gm, '    ')}`);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  for (const failure of failures) say(`\n${failure}`);
  say(`${checks.length - failures.length} of ${checks.length} checks of the package passed`);
  return failures.length;
}
