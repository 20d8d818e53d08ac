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
  // Locks that are shared with clients in other languages.
  locks: ['test/interop/{locks,read-write-locks,revocation}.test.ts'],
  // Other clients on the embedded server, Kerberos, and other releases of frameworks.
  foreign: ['test/interop/{embedded,*-suite,kerberos,nest-versions,schedulers,scheduler-firings}.test.ts'],
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
  // The project's pages: what they say of the package, and how they look.
  docs: ['scripts/docs/*.test.ts', 'test/browser/site.test.ts', 'test/docs/quick-start.test.ts'],
  // The project's own commands, and what is built.
  tools: [
    'bench/**/*.test.ts',
    'scripts/*.test.ts',
    'scripts/!(docs)/**/*.test.ts',
    'tools/**/*.test.ts',
    'test/integration/bench.test.ts',
  ],
};

/** Steps of CI that aren't tests, by their commands in package.json. */
export const COMMANDS = /** @type {const} */ ({ package: 'check:package', site: 'docs:build' });

/**
 * What decides who leads. It is shown by `npm test`, by the groups with faults, by the simulation, the model and the mutants. So a change
 * there makes none of the groups due that are about something else: TLS, fences, pages. Each night all groups run.
 */
const ELECTION = ['src/election/', 'src/lease/', 'src/lock/', 'src/queue/'];
const PAGES = ['*.md', '{bench,docs,examples,scripts,src,test,tools}/**/*.md'];
/** What the package's users see: its types, with their documentation. */
const DECLARATIONS = 'dist/**/*.d.ts';

/**
 * What CI runs only if an input has changed since it succeeded, as `scripts/recorded/inputs.mjs` finds the inputs. `also` has those that it
 * can't find, since no path in a file names them. Files below `apartFrom` are no inputs, and what only they import isn't either.
 *
 * @satisfies {Partial<Readonly<Record<OtherGroup | keyof typeof COMMANDS, Inputs>>>}
 */
export const RECORDED = {
  servers: {}, // On another release of ZooKeeper.
  secured: { apartFrom: ELECTION },
  processes: { also: ['test/releases/*.tgz'] },
  databases: {
    also: ['examples/**', '!examples/guides/nestjs/dist/**', 'test/interop/prisma/*'],
    apartFrom: ELECTION,
  },
  locks: { also: ['test/interop/foreign-clients/*'] },
  foreign: { also: ['test/interop/{foreign-clients,nest}/*'], apartFrom: ELECTION },
  hazards: { also: ['test/hazards/**'] },
  chaos: { also: ['test/fixtures/**'] },
  recovery: { also: ['test/fixtures/**'] },
  nemesis: { also: ['test/chaos/nemesis/**'] },
  model: {},
  searches: { also: ['test/model/*.pml'] },
  simulation: { also: ['test/simulation/**', '!test/simulation/hours.json'] }, // What was found is no input.
  mutants: { also: ['test/mutants/**'] },
  browser: { also: ['src/dashboard/**'], apartFrom: ELECTION },
  package: {
    also: [
      'package.json',
      'scripts/{build,package}*.mjs',
      'scripts/{build,package}/**',
      'src/**',
      'package-lock.json',
      DECLARATIONS,
    ],
    apartFrom: ELECTION,
  },
  docs: {
    also: [...PAGES, 'cspell.json', '.github/workflows/*', 'package.json', DECLARATIONS],
    apartFrom: ELECTION,
  },
  site: {
    also: [
      ...PAGES,
      'docs/.vitepress/*.mjs',
      'docs/.vitepress/theme/*',
      'typedoc.config.mjs',
      'package-lock.json',
      DECLARATIONS,
    ],
  },
  tools: { also: ['{bench,scripts,tools}/**/*.mjs'], apartFrom: ELECTION },
};

/** @typedef {{ also?: readonly string[], apartFrom?: readonly string[] }} Inputs */
/** @typedef {keyof typeof FILES} OtherGroup */
/** @typedef {'behaviour' | OtherGroup} Group */
