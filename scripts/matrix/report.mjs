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
