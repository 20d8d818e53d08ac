/**
 * @typedef {object} Result - the result of the tests on one version of Node.js
 * @property {string} version
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {number} tookMs
 */

/**
 * @param {string} version
 * @param {{ numPassedTests: number, numFailedTests: number, numPendingTests: number, success: boolean }} report - vitest's report
 * @param {number} tookMs
 * @returns {Result}
 */
export function resultOf(version, report, tookMs) {
  const { numPassedTests, numFailedTests, numPendingTests, success } = report;
  // If a test file can't be loaded, the run fails without a failed test.
  const failed = Math.max(numFailedTests, success ? 0 : 1);
  return { version, passed: numPassedTests, failed, skipped: numPendingTests, tookMs };
}

/** A table in Markdown. @param {readonly Result[]} results @returns {string} */
export function tableOf(results) {
  const rows = results.map(
    ({ version, passed, failed, skipped, tookMs }) =>
      `| ${version} | ${passed} | ${failed} | ${skipped} | ${Math.round(tookMs / 1000)} s |`,
  );
  return ['| Node.js | passed | failed | skipped | took |', '|---|---|---|---|---|', ...rows].join('\n');
}

/**
 * @typedef {object} CheckedRuntime - what was found about another runtime
 * @property {string} version - its name and version
 * @property {readonly string[]} checks - the names of the checks
 * @property {ReadonlyMap<string, string>} failures - why a check failed, by its name
 */

/** A table in Markdown, with a row for each check. @param {readonly CheckedRuntime[]} runtimes @returns {string} */
export function checksTableOf(runtimes) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.join(' | ')} |`;
  const outcome = (/** @type {CheckedRuntime} */ { failures }, /** @type {string} */ check) =>
    failures.has(check) ? 'failed' : 'passed';
  const head = [
    line(['check', ...runtimes.map(({ version }) => version)]),
    `|${'---|'.repeat(runtimes.length + 1)}`,
  ];
  const checks = runtimes[0]?.checks ?? [];
  const rows = checks.map((check) => line([check, ...runtimes.map((each) => outcome(each, check))]));
  return [...head, ...rows].join('\n');
}
