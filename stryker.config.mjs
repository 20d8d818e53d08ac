/**
 * `npm run mutation`: Stryker changes the pure units in one place at a time, and checks that a unit test fails. Mutants of
 * code that needs a server are written by hand: `test/mutants`.
 *
 * @type {import('@stryker-mutator/api/core').PartialStrykerOptions}
 */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutants/stryker.vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  mutate: [
    'src/platform/{collections/drop-oldest-queue,json,retry/backoff}.ts',
    'src/wire/frame-reader.ts',
    'src/session/{path-protection,session-options,watch-registry}.ts',
    'src/session/{connection/connect-string,keep-alive/keep-alive,protocol/acl}.ts',
    'src/lease/lease.ts',
    'src/queue/{names-and-order,order-after-overflow,turn-rule}.ts',
    'src/election/{advertised-data,elector-options,lost-term-backoff}.ts',
    'src/election/{candidates/{candidate,candidate-uuid,order-by-priority},requests/candidate-request,record/{election-record,leader-snapshot}}.ts',
    'src/election/decide-next-step.ts',
    'src/cluster/supervisor/{health,election-supervisor-options}.ts',
  ],
  // The tests of these units read no other files.
  ignorePatterns: ['/*', '!/src', '!/test', '!/package.json', '!/tsconfig.json'],
  concurrency: 1,
  incremental: true,
  incrementalFile: 'node_modules/.cache/stryker/incremental.json',
  reporters: ['progress-append-only', 'clear-text', 'html', 'json'],
  clearTextReporter: { allowColor: false, reportTests: false, logTests: false },
  htmlReporter: { fileName: 'coverage/mutation/index.html' },
  jsonReporter: { fileName: 'coverage/mutation/report.json' },
  thresholds: { high: 95, low: 90, break: 85 },
};
