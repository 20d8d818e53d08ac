/** @typedef {{ name: string, check: () => Promise<unknown> }} Check - `check` rejects with the reason if it fails */

/** Suits a machine with two processors. */
const AT_A_TIME = 2;

/**
 * Runs all checks, prints a line for each, and then the reasons of the failures.
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

/** For a check that looks for problems. @param {readonly string[]} problems @throws {Error} if there are any */
export function refuse(problems) {
  if (problems.length > 0) throw new Error(problems.join('\n'));
}
