import { describe, expect, it } from 'vitest';
import {
  circlesOf,
  crowdedFoldersOf,
  fragmentsOf,
  isNamedOtherwise,
  LIMITS,
  type Limit,
  linesOf,
  type Module,
  misplacedTestsOf,
  offendersOf,
  parseModule,
  readModules,
  SOURCES,
  upwardImportsOf,
  vagueWordsIn,
} from './structure.js';

const MOST_FILES = 20;
const LEAST_LINES = 30;

/** Tests without a source of their name, and why. */
const TESTS_OF_SEVERAL_SOURCES: Readonly<Record<string, string>> = {
  'session/child-watches.test.ts': 'the watches of children, in operations.ts and below',
  'examples.test.ts': 'whether each folder of examples runs in a project of its own',
  'fencing-docs.test.ts': 'what docs/fencing.md says of the code',
  'guides.test.ts': 'what docs/guides says of the code',
  'handover-precautions.test.ts': 'the release that hands a term over, and the candidate that gets it',
  'hostile-frames.test.ts': 'the session and everything below it, on whatever bytes a server sends',
  'lone-candidate.test.ts': 'a candidate that finds a vacant election without candidates',
  'layers.test.ts': 'all sources',
  'log-docs.test.ts': 'what docs/operations/logs.md says of all sources',
  'needless-waits.test.ts': 'claims, takeovers and releases that come at an unlucky moment',
  'outstanding-cleanup.test.ts':
    'the supervisor, the election and the session at a clean-up that is not done yet',
  'precautions.test.ts': 'locks, elections and sessions at a reply that is lost',
  'resolved-options.test.ts': 'the options of the session, the election and the supervisor side by side',
  'shards/ownership/publication.test.ts': 'what owners, their records and the publisher write together',
  'shards/supervisor/moves.test.ts': 'the supervisor, the planner and the owners at a move',
  'stops-at-every-step.test.ts': 'the supervisor and all below it, stopped at each step',
  'structure.test.ts': 'all sources',
  'term-precautions.test.ts':
    'the lease, the record and the guarded writes of a term, on whatever other clients write',
  'takeover-precautions.test.ts': 'leases, heartbeats and claims of leaders that may be taken over from',
};

/** Short files that one other file imports, and why. */
const SHORT_FILES: Readonly<Record<string, string>> = {
  'dashboard/index.ts': 'what users import as conclave/dashboard',
  'dashboard/page-html.ts': 'the build puts the page into it',
  'testing/index.ts': 'what users import as conclave/testing',
};

/** Files with a class, none of whose exports has the file's name, and why. */
const OTHERWISE_NAMED: Readonly<Record<string, string>> = {
  'metrics/export/open-telemetry.ts': 'metrics and spans of OpenTelemetry',
  'overview/reading/reader-resources.ts': 'reads that leave pauses, for one node and in all',
  'overview/reading/heartbeat-and-server-polls.ts': 'two kinds of reads by the clock',
  'platform/collections/lists-and-sets.ts': 'small collections',
  'session/connection/connection-end.ts': 'how a connection ends, and what is lost with it',
  'testing/protocol/op-codes.ts': 'the numbers of the protocol, and the error that has one',
  'testing/protocol/requests.ts': 'the requests of all clients',
  'wire/jute.ts': 'the encoding of all values',
};

const modules = readModules(SOURCES);
const files = modules.map(({ file }) => file);

describe('the sources', () => {
  it('import each other in no circle', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(circlesOf(modules)).toEqual([]);
  });

  it.each(LIMITS.map((limit) => [limit.excuse, limit] as const))(
    'say why where they do: %s',
    (_excuse, limit) => {
      expect(offendersOf(modules, limit)).toEqual([]);
    },
  );

  it('are in folders of few files', () => {
    expect(crowdedFoldersOf(files, MOST_FILES)).toEqual([]);
  });

  it('are no fragments: a short file has several importers, a test of its own, or a reason', () => {
    const tests = new Set(readModules(import.meta.dirname).map(({ file }) => file));
    const fragments = fragmentsOf(modules, LEAST_LINES, (file) =>
      tests.has(file.replace(/\.ts$/, '.test.ts')),
    );
    expect(fragments.sort()).toEqual(Object.keys(SHORT_FILES).sort());
  });

  it('have their unit tests at the same place below test/unit', () => {
    const tests = readModules(import.meta.dirname).map(({ file }) => file);
    const misplaced = misplacedTestsOf(
      tests.filter((file) => file.endsWith('.test.ts')),
      new Set(files),
    );
    expect(tests.length).toBeGreaterThan(30);
    expect(misplaced.sort()).toEqual(Object.keys(TESTS_OF_SEVERAL_SOURCES).sort());
  });

  it('are named after a class, interface, type or function of theirs if they export a class', () => {
    const others = modules.filter(({ file, text }) => isNamedOtherwise(file, text)).map(({ file }) => file);
    expect(others.sort()).toEqual(Object.keys(OTHERWISE_NAMED).sort());
  });

  it('name in their comments who acts', () => {
    const vague = modules.filter(({ text }) => vagueWordsIn(text) > 0).map(({ file }) => file);
    expect(vague).toEqual([]);
  });
});

const graph = (edges: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(edges).map(([file, imports]) => ({ file, imports }));
const source = (text: string): Module => parseModule('a.ts', text);

describe('what looks at the sources', () => {
  it('reads every kind of import, and each module once', () => {
    const text = [
      "import type { A } from './a.js';",
      "import { type B, b } from '../b.js';",
      "export * from './c.js';",
      "import './d.js';",
      "import 'commander';",
      "const e = await import('./e.js');",
      "type F = typeof import('./f.js').default;",
      "import { again } from './a.js';",
      "// import './comment.js';",
      `const text = "import './text.js'";`,
    ].join('\n');
    const { imports, packages } = parseModule('room/x.ts', text);
    expect([...imports].sort()).toEqual([
      'b.ts',
      'room/a.ts',
      'room/c.ts',
      'room/d.ts',
      'room/e.ts',
      'room/f.ts',
    ]);
    expect(packages).toEqual(['commander']);
  });

  it('finds a circle, and shows the way round', () => {
    expect(circlesOf(graph({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }))).toEqual([]);
    expect(circlesOf(graph({ a: ['b'], b: ['c', 'd'], c: [], d: ['b'] }))).toEqual(['b → d → b']);
    expect(circlesOf(graph({ a: ['a'], b: ['c'], c: ['b'] }))).toEqual(['a → a', 'b → c → b']);
  });

  it('counts imports and lines, and takes a reason for an answer only where one is needed', () => {
    const [imports, lines] = LIMITS as [Limit, Limit];
    const importing = (count: number) =>
      Array.from({ length: count }, (_, each) => `import './m${each}.js';\n`).join('');
    const excuse = ' * Imports more than 20 modules: it is the outline.\n';
    expect(offendersOf([source(importing(20))], imports)).toEqual([]);
    expect(offendersOf([source(importing(21))], imports)).toEqual(['a.ts: 21 of 20']);
    expect(offendersOf([source(`/**\n${excuse} */\n${importing(21)}`)], imports)).toEqual([]);
    expect(offendersOf([source(`/**\n${excuse} */\n${importing(20)}`)], imports)).toHaveLength(1);
    expect(offendersOf([source(`// Imports more than 20 modules:\n${importing(21)}`)], imports)).toHaveLength(
      1,
    );
    expect(offendersOf([source('\n'.repeat(500))], lines)).toEqual([]);
    expect(offendersOf([source('\n'.repeat(501))], lines)).toEqual(['a.ts: 501 of 500']);
    expect(offendersOf([source(`// Longer than 500 lines: one table.${'\n'.repeat(501)}`)], lines)).toEqual(
      [],
    );
    expect(linesOf('a\nb')).toBe(2);
  });

  it('finds a short file that one other imports, unless a test explains it', () => {
    const modulesOf = (text: string) => [
      parseModule('a.ts', "import './b.js';"),
      parseModule('b.ts', text),
      parseModule('c.ts', "import './d.js';"),
      parseModule('e.ts', "import './d.js';"),
      parseModule('d.ts', 'short'),
    ];
    expect(fragmentsOf(modulesOf('\n'.repeat(29)), 30, () => false)).toEqual(['b.ts']);
    expect(fragmentsOf(modulesOf('\n'.repeat(30)), 30, () => false)).toEqual([]);
    expect(fragmentsOf(modulesOf('short'), 30, (file) => file === 'b.ts')).toEqual([]);
  });

  it('finds a folder with too many files, and counts those of its sub-folders apart', () => {
    expect(crowdedFoldersOf(['a/1', 'a/2', 'a/b/3', 'c'], 2)).toEqual([]);
    expect(crowdedFoldersOf(['a/1', 'a/2', 'a/3', 'c'], 2)).toEqual(['a']);
  });

  it('finds a test that stands elsewhere than its source', () => {
    const tests = ['room/a.test.ts', 'a.test.ts'];
    expect(misplacedTestsOf(tests, new Set(['room/a.ts']))).toEqual(['a.test.ts']);
  });

  it('finds a file that is named after nothing that it exports', () => {
    expect(isNamedOtherwise('a/turn-wait.ts', 'export class TurnWait {}')).toBe(false);
    expect(isNamedOtherwise('a/turn-wait.ts', 'export interface TurnWait {}\nexport class Wait {}')).toBe(
      false,
    );
    expect(isNamedOtherwise('a/turns.ts', 'export class WrongTurnError extends Error {}')).toBe(false);
    expect(isNamedOtherwise('a/turns.ts', 'export class TurnWait {}')).toBe(true);
  });

  it('finds an import of a room that is above', () => {
    const rooms = [['low'], ['mid', 'mid/sub'], ['mid/top']];
    const down = graph({ 'mid/a.ts': ['mid/sub/b.ts', 'low/c.ts'], 'mid/sub/b.ts': ['mid/a.ts'] });
    expect(upwardImportsOf(down, rooms)).toEqual([]);
    expect(upwardImportsOf(graph({ 'mid/a.ts': ['mid/top/b.ts'] }), rooms)).toEqual([
      'mid/a.ts imports mid/top/b.ts',
    ]);
  });

  it('counts words for an unnamed actor in comments, but not in code or between quotation marks', () => {
    expect(vagueWordsIn("/** Whoever comes. */\na(); // Nobody's.\n/*\n * for somebody\n */")).toBe(3);
    expect(vagueWordsIn('const nobody = "for somebody"; // Prints "nobody leads", or `nobody`.')).toBe(0);
  });
});
