import { defineConfig } from 'vitest/config';
import { pagePlugin } from './scripts/build/page.mjs';
import { LongestFilesEarly } from './test/support/vitest/longest-files-early.js';

const common = {
  pool: 'forks',
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Also for the processes that tests start. Most tests cause faults; those about the default log level set it themselves.
  env: { CONCLAVE_LOG_LEVEL: 'silent' },
} as const;
// Tests in the folders below these are of their tools, and as quick as others.
const HAZARDS = 'test/hazards/*.test.ts';
const CHAOS = 'test/chaos/*.test.ts';
const NEMESIS = 'test/chaos/{nemesis,network}.test.ts';
// They measure recoveries, or cause loads that other tests would suffer from.
const RECOVERY = [
  'test/chaos/half-open-link.test.ts',
  'test/chaos/run.test.ts',
  'test/chaos/dashboard-load.test.ts',
  'test/chaos/many-holds.test.ts',
];
const MODEL = 'test/model/**/*.test.ts';
const SIMULATION = 'test/simulation/**/*.test.ts';
const MUTANTS = 'test/mutants/mutants.test.ts';
const BROWSER = 'test/browser/*.test.ts';
// These need most of the packages, and change with the project's commands and pages. CI runs them in a step of their own.
const TOOLS = [
  '{bench,scripts,tools}/**/*.test.ts',
  'test/integration/bench.test.ts',
  'test/browser/site.test.ts',
];
// Clients in other languages, on the shared server and on the embedded one: `npm run test:foreign`, and in CI.
const FOREIGN = 'test/interop/*.test.ts';
// How the page does with a thousand elections, and the documentation's pictures.
const LONG_IN_BROWSER = ['test/browser/load.test.ts', 'test/browser/pictures.test.ts'];

// What `npm run test:fast` leaves out, and why:
const NEEDS_MORE_THAN_EMBEDDED = [
  'test/integration/tls.test.ts', // needs a server with TLS
  'test/integration/{required-authentication,refusals,password-that-rotates}.test.ts', // need servers with settings of their own
  'test/integration/certificates-that-rotate.test.ts', // needs a server with TLS
  'test/integration/large-requests.test.ts', // needs a server with settings of its own
  'test/integration/{fencing,postgres-fence}.test.ts', // need PostgreSQL
  'test/integration/guides/**', // needs PostgreSQL and Redis, and starts some thirty processes
  'test/integration/examples.test.ts', // needs PostgreSQL, for one of the examples
  'test/integration/observer-ensemble.test.ts', // needs three servers
  'test/integration/processes.test.ts', // starts some sixty processes, and takes as long as all other tests
  'test/integration/run.test.ts', // starts some hundred processes
  'test/integration/overview-traffic.test.ts', // needs the counts of a real server
  'test/integration/lock-names.test.ts', // needs a real server, which reads a transaction log that the test has written
  'test/integration/lock-load.test.ts', // takes a minute: fifty contenders in five processes, and hundreds that leave at the same time
  'test/integration/lock-traffic.test.ts', // takes half a minute, for a queue of a thousand contenders
  'test/conformance/any-steps.test.ts', // needs a real server to compare with
];
// What a run with `CONCLAVE_TESTS=of-releases` leaves out as well: the release of the server doesn't matter to it.
const OF_NO_RELEASE = [
  // What processes, signals, loggers and commands do.
  'test/integration/{run,processes,cluster,shutdown,start-signal,cooldown,health,inspect,two-copies}.test.ts',
  'test/integration/{default-logger,fake-timers,cli,cli-*,mounted-dashboard,metrics-*}.test.ts',
  'test/integration/examples.test.ts',
  'test/integration/guides/**',
  'test/integration/hostile-server.test.ts', // another program is the server
  // These talk to the embedded server alone.
  'test/integration/{clickhouse-keeper,options-by-functions,priority,secrets,supervised-election,throttled}.test.ts',
  'test/integration/{fencing,postgres-fence}.test.ts', // PostgreSQL decides
  'test/integration/guard.test.ts', // a command around a program; guardian.test.ts has what a guardian does at the servers
  'test/integration/{nestjs,nest-jobs,node-cron}.test.ts', // what a framework calls, and when: jobs.test.ts has the records
  'test/integration/{current-term,reentrancy,term-handle}.test.ts', // calls and threads within one process
  'test/integration/warm-standby.test.ts', // when a hook is called and what its result is for
  'test/integration/{lock-traffic,overview-traffic}.test.ts', // how many requests Conclave sends
  'test/integration/lock-load.test.ts', // how much load there is
];
const CHAOS_OF_NO_RELEASE = [
  'test/chaos/{killed-server,many-children,many-watches,stalled-main-thread,stopped-leader}.test.ts',
  'test/chaos/{job-firings,once-firings}.test.ts', // the clocks of replicas, and commands
];
// The groups run one after the other, since the leases in some tests are short: too much at the same time would end them.
/** They wait more than they compute: for notifications, and for sessions to expire. */
const behaviour = { maxWorkers: 4, sequence: { groupOrder: 0 } };
/** They start servers and processes. Their assertions hold on a busy machine too. */
const busy = { maxWorkers: 4, sequence: { groupOrder: 1 } };
/** They measure how soon something recovers, or is removed. */
const measuring = { maxWorkers: 2, sequence: { groupOrder: 2 } };
/** A test that mostly waits for its own processes, the page in a browser, and tests that only compute. */
const besideStorms = { maxWorkers: 3, sequence: { groupOrder: 3 } };
const isEmbedded = process.env.CONCLAVE_TEST_SERVER === 'embedded';
/** `all`, `tools` and `foreign` are set by `npm run test:all` and the like, `of-releases` by CI. */
const extent = process.env.CONCLAVE_TESTS;
const isOfReleases = extent === 'of-releases';
const writesPictures = process.env.CONCLAVE_PICTURES === '1';

/** What a page shows is polled for, since there is no event for it. */
const patient = { expect: { poll: { timeout: 20_000 } } };
const tools = {
  test: { ...common, ...patient, name: 'tools', include: TOOLS, maxWorkers: 2, sequence: { groupOrder: 4 } },
};

export default defineConfig({
  test: {
    // For the whole run and not for a project, so that it runs once and provides its values to all projects.
    globalSetup: ['test/support/vitest/global-setup.ts'],
    sequence: { sequencer: LongestFilesEarly },
    coverage: { include: ['src/**/*.ts'], exclude: ['**/*.test.ts'], reporter: ['text', 'html'] },
    // The projects don't extend this configuration: each would run the global setup again.
    projects: [
      {
        plugins: [pagePlugin()],
        test: {
          ...common,
          name: 'behaviour',
          include: ['test/**/*.test.ts', 'examples/guides/testing/*.vitest.mjs'],
          exclude: [
            ...TOOLS,
            ...(extent === undefined ? [FOREIGN] : []),
            HAZARDS,
            CHAOS,
            MODEL,
            SIMULATION,
            MUTANTS,
            BROWSER,
            ...(isEmbedded ? NEEDS_MORE_THAN_EMBEDDED : []),
            ...(isOfReleases ? OF_NO_RELEASE : []),
          ],
          // Most of the processors' time would go into loading the same modules for each file. So no test may depend on what
          // another file leaves in a module or in the process.
          isolate: false,
          ...behaviour,
        },
      },
      ...(extent === 'all' || extent === 'tools' ? [tools] : []),
      {
        test: {
          ...common,
          name: 'hazards',
          include: [HAZARDS],
          ...busy,
        },
      },
      {
        test: {
          ...common,
          name: 'chaos',
          include: [CHAOS],
          exclude: [NEMESIS, ...RECOVERY, ...(isOfReleases ? CHAOS_OF_NO_RELEASE : [])],
          // Each test starts servers or processes and causes faults.
          maxConcurrency: 4,
          ...busy,
        },
      },
      {
        test: {
          ...common,
          name: 'recovery',
          include: RECOVERY,
          ...measuring,
        },
      },
      {
        test: {
          ...common,
          name: 'nemesis',
          include: [NEMESIS],
          // A busy machine is one more fault.
          ...besideStorms,
        },
      },
      {
        test: {
          ...common,
          name: 'model',
          include: [MODEL],
          // Each search keeps a core busy, at low priority. More of them at the same time would not be faster.
          testTimeout: 600_000,
          maxConcurrency: 2,
          ...busy,
        },
      },
      {
        test: {
          ...common,
          name: 'simulation',
          include: [SIMULATION],
          // The simulation never waits, and uses a whole processor for as long as it may.
          ...besideStorms,
        },
      },
      {
        plugins: [pagePlugin()],
        test: {
          ...common,
          name: 'browser',
          include: [BROWSER],
          exclude: [...TOOLS, ...(extent === 'all' || writesPictures ? [] : LONG_IN_BROWSER)],
          ...patient,
          ...besideStorms,
        },
      },
      {
        test: {
          ...common,
          name: 'mutants',
          include: [MUTANTS],
          // Each test starts a vitest run with as many workers as there are processors.
          testTimeout: 300_000,
          ...besideStorms,
        },
      },
    ],
  },
});
