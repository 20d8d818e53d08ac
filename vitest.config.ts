import { defineConfig } from 'vitest/config';
import { pagePlugin } from './scripts/build/page.mjs';
import { FILES, type OtherGroup } from './test/support/vitest/groups.mjs';
import { LongestFilesEarly } from './test/support/vitest/longest-files-early.js';

const common = {
  pool: 'forks',
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Also for the processes that tests start. Most tests cause faults; those about the default log level set it themselves.
  env: { CONCLAVE_LOG_LEVEL: 'silent' },
  globalSetup: 'test/support/vitest/global-setup.ts',
} as const;

/** How the page does with a thousand elections, and the documentation's pictures. */
const LONG_IN_BROWSER = ['test/browser/load.test.ts', 'test/browser/pictures.test.ts'];
const runsAll = process.env.CONCLAVE_TESTS === 'all';
const writesPictures = process.env.CONCLAVE_PICTURES === '1';
/** CI has `real` here for another release of ZooKeeper. */
const server = process.env.CONCLAVE_TEST_SERVER ?? 'embedded';

// The groups run one after the other, since the leases in some tests are short: too much at the same time would end them.
/** They wait more than they compute: for notifications, and for sessions to expire. */
const waiting = { maxWorkers: 4, sequence: { groupOrder: 0 } };
/** They start servers and processes. Their assertions hold on a busy machine too. */
const busy = { maxWorkers: 4, sequence: { groupOrder: 1 } };
/** They measure how soon something recovers, or is removed. */
const measuring = { maxWorkers: 2, sequence: { groupOrder: 2 } };
/** A test that mostly waits for its own processes, the page in a browser, and tests that only compute. */
const besideStorms = { maxWorkers: 3, sequence: { groupOrder: 3 } };
const commands = { maxWorkers: 2, sequence: { groupOrder: 4 } };

/** Most of the processors' time would go into loading the same modules for each file. So no test may depend on what another file leaves in a
 * module or in the process. */
const together = { isolate: false };
/** What a page shows is polled for, since there is no event for it. */
const patient = { expect: { poll: { timeout: 20_000 } } };

/** A project with the files of a group. */
function project(name: OtherGroup, options: object) {
  return { plugins: [pagePlugin()], test: { ...common, name, include: [...FILES[name]], ...options } };
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFilesEarly },
    reporters: ['default', './test/support/vitest/group-times.ts'],
    coverage: { include: ['src/**/*.ts'], exclude: ['**/*.test.ts'], reporter: ['text', 'html'] },
    projects: [
      {
        plugins: [pagePlugin()],
        test: {
          ...common,
          name: 'behaviour',
          include: ['test/**/*.test.ts', 'examples/guides/testing/*.vitest.mjs'],
          exclude: Object.values(FILES).flat(),
          env: { ...common.env, CONCLAVE_TEST_SERVER: server },
          ...together,
          ...waiting,
        },
      },
      project('servers', { ...together, ...waiting }),
      project('secured', waiting),
      project('processes', { ...together, ...waiting }),
      project('databases', { ...together, ...waiting }),
      project('locks', { ...together, ...waiting }),
      project('foreign', { ...together, ...waiting }),
      project('hazards', busy),
      // Each test starts servers or processes and causes faults.
      project('chaos', { maxConcurrency: 4, ...busy }),
      project('recovery', measuring),
      // A busy machine is one more fault.
      project('nemesis', besideStorms),
      project('model', { testTimeout: 600_000, ...besideStorms }),
      // Each search keeps a core busy, at low priority. More of them at the same time would not be faster.
      project('searches', { testTimeout: 600_000, maxConcurrency: 2, ...besideStorms }),
      // The simulation never waits, and uses a whole processor for as long as it may.
      project('simulation', besideStorms),
      project('browser', {
        exclude: runsAll || writesPictures ? [] : LONG_IN_BROWSER,
        ...patient,
        ...besideStorms,
        // Beside another page, replicas with the default lease lose it.
        maxWorkers: 1,
      }),
      // One test runs all mutants, in CI at low priority.
      project('mutants', { testTimeout: 1_200_000, ...besideStorms }),
      project('docs', { ...patient, ...commands }),
      project('tools', { ...patient, ...commands }),
    ],
  },
});
