import { describe, expect, it } from 'vitest';
import { checksTableOf, resultOf, tableOf } from './report.mjs';

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

it('the report on other runtimes is a table with a row for each check', () => {
  const checks = ['leads', 'runs'];
  const runtimes = [
    { version: 'Bun 1.4.5', checks, failures: new Map() },
    { version: 'Deno 2.9.6', checks, failures: new Map([['runs', 'why']]) },
  ];
  expect(checksTableOf(runtimes)).toBe(
    '| check | Bun 1.4.5 | Deno 2.9.6 |\n|---|---|---|\n| leads | passed | passed |\n| runs | passed | failed |',
  );
});
