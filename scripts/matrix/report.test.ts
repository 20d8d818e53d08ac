import { describe, expect, it } from 'vitest';
import { resultOf, tableOf } from './report.mjs';

describe('the report on versions of Node.js', () => {
  const report = { numPassedTests: 7, numFailedTests: 0, numPendingTests: 1, success: true };

  it('is a table with a row for each', () => {
    expect(tableOf([resultOf('v22.1.0', report, 61_400)])).toBe(
      '| Node.js | passed | failed | skipped | took |\n|---|---|---|---|---|\n| v22.1.0 | 7 | 0 | 1 | 61 s |',
    );
  });

  it('counts a file that could not be loaded as a failure', () => {
    expect(resultOf('v22.1.0', { ...report, success: false }, 1).failed).toBe(1);
  });
});
