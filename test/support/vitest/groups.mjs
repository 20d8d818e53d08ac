/**
 * The groups of tests, by what they need and what they prove. Each is a project of `vitest.config.ts`. `npm test` runs the groups of
 * {@link PLAIN}, which need Node, npm and ZooKeeper alone; CI runs all.
 *
 * Tests in the folders below test/chaos and the like are of their tools, and as quick as others.
 */

/** The groups of `npm test`: what describes behaviour. */
export const PLAIN = /** @type {const} */ (['behaviour', 'servers']);

/** The files of each group but `behaviour`, which has all others. @satisfies {Readonly<Record<string, readonly string[]>>} */
export const FILES = {
  // A real ZooKeeper is what they are about, or has settings of its own, or is compared with the embedded server.
  servers: [
    'test/conformance/*.test.ts',
    'test/integration/{access,election,expiry,lock,lost-data,session,shards,transaction}.test.ts',
    'test/integration/{ownerless-nodes,sasl,unreadable,unprotected-paths,watches-after-reconnect}.test.ts',
    'test/integration/{large-requests,lock-names,observer-ensemble,required-authentication}.test.ts',
  ],
  // Servers with TLS, and servers whose certificates and passwords change: they start some thirty servers.
  secured: ['test/integration/{certificates-that-rotate,password-that-rotates,refusals,tls}.test.ts'],
  // Processes that are killed, whose outputs break, or that run once in a period: each test starts several.
  processes: ['test/integration/{cli-broken-outputs,cli-once,processes,releases}.test.ts'],
  // PostgreSQL, Redis, and the guides' and the examples' programs.
  databases: [
    'test/integration/{examples,fencing,postgres-fence}.test.ts',
    'test/integration/guides/*.test.ts',
    'test/interop/{fence-clients,redis-fence}.test.ts',
  ],
  // Clients in other languages, Kerberos, and other releases of frameworks.
  foreign: ['test/interop/!(fence-clients|redis-fence).test.ts'],
  hazards: ['test/hazards/*.test.ts'],
  chaos: ['test/chaos/!(nemesis|network|half-open-link|run|dashboard-load|many-holds).test.ts'],
  // They measure recoveries and counts, or cause loads that other tests would suffer from.
  recovery: [
    'test/chaos/{half-open-link,run,dashboard-load,many-holds}.test.ts',
    'test/integration/{lock-load,lock-traffic,overview-traffic}.test.ts',
  ],
  nemesis: ['test/chaos/{nemesis,network}.test.ts', 'test/chaos/nemesis/network.test.ts'],
  // The shipped decisions in every state, and stops at every step.
  model: [
    'test/model/{cell,explorer}/*.test.ts',
    'test/model/induction/code.test.ts',
    'test/unit/stops-at-every-step.test.ts',
  ],
  // By Spin and Z3.
  searches: ['test/model/model.test.ts', 'test/model/induction/induction.test.ts'],
  simulation: ['test/simulation/**/*.test.ts'],
  mutants: ['test/mutants/*.test.ts'],
  browser: ['test/browser/!(site).test.ts'],
  // They need most of the packages, and change with the project's commands and pages.
  tools: [
    '{bench,scripts,tools}/**/*.test.ts',
    'test/integration/bench.test.ts',
    'test/browser/site.test.ts',
    'test/docs/quick-start.test.ts',
  ],
};

/**
 * The groups that CI runs only if an input has changed since they succeeded, as `scripts/recorded/inputs.mjs` finds the inputs. Here are
 * those that it can't find, since no path in a file names them.
 *
 * @satisfies {Partial<Readonly<Record<OtherGroup, readonly string[]>>>}
 */
export const RECORDED = {
  servers: [], // On another release of ZooKeeper.
  secured: [],
  processes: ['test/releases/*.tgz'],
  databases: ['examples/**'],
  foreign: ['test/interop/**'],
  hazards: ['test/hazards/**'],
  chaos: ['test/fixtures/**'],
  recovery: ['test/fixtures/**'],
  nemesis: ['test/chaos/nemesis/**'],
  model: [],
  searches: ['test/model/*.pml'],
  simulation: ['test/simulation/**', '!test/simulation/hours.json'], // What was found is no input.
  mutants: ['test/mutants/**'],
  browser: ['src/dashboard/**'],
};

/** @typedef {keyof typeof FILES} OtherGroup */
/** @typedef {'behaviour' | OtherGroup} Group */
