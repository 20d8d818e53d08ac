/**
 * `npm run mutation`: Stryker changes the pure units one place at a time, and looks whether a unit test fails. What
 * only behaves as it should together with a server is changed by hand instead: `test/mutants`.
 *
 * @type {import('@stryker-mutator/api/core').PartialStrykerOptions}
 */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutants/stryker.vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  mutate: [
    'src/session/{access,connect-string,frames,heartbeat,lease,path-guard,session-options,watches}.ts',
    'src/lock/{admission,age,order}.ts',
    'src/election/{advertisement,backlog,candidate,claim,cooldown,elector-options,json}.ts',
    'src/election/{observer-options,priority,record,request,sighting,silence}.ts',
    'src/cluster/{backoff,health,supervisor-options}.ts',
  ],
  // The tests of these units read nothing else.
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
