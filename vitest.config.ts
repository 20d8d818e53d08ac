import { defineConfig } from 'vitest/config';
import { LongOnesEarly } from './test/helpers/long-ones-early.js';

const common = {
  pool: 'forks',
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Of the processes that tests start, too. Faults are what they are about: those that ask what is said by default say so.
  env: { CONCLAVE_LOG_LEVEL: 'silent' },
} as const;
const HAZARDS = 'test/hazards/**/*.test.ts';
const CHAOS = 'test/chaos/**/*.test.ts';
const NEMESIS = 'test/chaos/nemesis.test.ts';
const RECOVERY = ['test/chaos/half-open-link.test.ts', 'test/chaos/run.test.ts'];
const MODEL = 'test/model/**/*.test.ts';
const SIMULATION = 'test/simulation/**/*.test.ts';
const MUTANTS = 'test/mutants/**/*.test.ts';

// What `npm run test:fast` leaves out, for what it would need:
const NEEDS_MORE_THAN_EMBEDDED = [
  'test/integration/tls.test.ts', // a server that speaks TLS
  'test/integration/fencing.test.ts', // PostgreSQL
  'test/integration/examples.test.ts', // PostgreSQL, for one of the examples
  'test/integration/observer-ensemble.test.ts', // three real servers
  'test/integration/processes.test.ts', // it could, but starts some sixty processes, and takes as long as all the rest
  'test/integration/run.test.ts', // it could, but starts some hundred processes
  'test/integration/bench.test.ts', // a real server's counts
  'test/integration/lock-load.test.ts', // a minute for itself: fifty contenders in five processes, and hundreds that go at once
  'test/integration/lock-traffic.test.ts', // it could, but half a minute of computing goes into one queue of a thousand
  'test/conformance/any-steps.test.ts', // a real server to compare with
  'test/interop/**', // Java and Python, with Curator and kazoo
];
const besideNemesis = { maxWorkers: 2, sequence: { groupOrder: 4 } };
const isEmbedded = process.env.CONCLAVE_TEST_SERVER === 'embedded';

export default defineConfig({
  test: {
    // Of the whole run, not of a project: then it runs once, and all projects are given what it provides.
    globalSetup: ['test/helpers/global-setup.ts'],
    sequence: { sequencer: LongOnesEarly },
    coverage: { include: ['src/**/*.ts'], exclude: ['**/*.test.ts'], reporter: ['text', 'html'] },
    // They don't extend this configuration: each would run the global setup again.
    projects: [
      {
        test: {
          ...common,
          name: 'behaviour',
          include: ['{bench,scripts,src,test,tools}/**/*.test.ts'],
          exclude: [
            HAZARDS,
            CHAOS,
            MODEL,
            SIMULATION,
            MUTANTS,
            ...(isEmbedded ? NEEDS_MORE_THAN_EMBEDDED : []),
          ],
          // These tests wait more than they compute: for notifications, and for sessions to expire.
          maxWorkers: 4,
          // A third of the time of a fast run is the loading of the same modules for each file. What their state is,
          // no test depends on; `npm test`, with modules of its own for each file, would show it.
          isolate: !isEmbedded,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'hazards',
          include: [HAZARDS],
          // They start some 80 processes, and leases of other tests are short.
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: 'chaos',
          include: [CHAOS],
          exclude: [NEMESIS, ...RECOVERY],
          // Each starts servers or processes and takes something from them. What has to hold then holds however busy the
          // machine is, and much of the time is spent waiting for sessions to expire: so two files run at once, and some
          // tests of a file.
          maxWorkers: 2,
          maxConcurrency: 4,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...common,
          name: 'recovery',
          include: RECOVERY,
          // They measure how soon something is back, or gone: nothing else may run beside them.
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...common,
          name: 'nemesis',
          include: [NEMESIS],
          // Three minutes in which much is waited for, on processes of its own: a machine that has other things to do
          // is one fault more. So it runs beside all that only computes, which goes on one file after the other.
          ...besideNemesis,
        },
      },
      {
        test: {
          ...common,
          name: 'model',
          include: [MODEL],
          // Searches that take a core each for their whole time: more at once wouldn't be over sooner, and leave less to
          // those beside them.
          testTimeout: 600_000,
          maxConcurrency: 2,
          ...besideNemesis,
        },
      },
      {
        test: {
          ...common,
          name: 'simulation',
          include: [SIMULATION],
          // It waits for nothing and takes a whole processor for as long as it may.
          ...besideNemesis,
        },
      },
      {
        test: {
          ...common,
          name: 'mutants',
          include: [MUTANTS],
          // A run of its own, with as many workers as there are processors.
          testTimeout: 300_000,
          sequence: { groupOrder: 5 },
        },
      },
    ],
  },
});
