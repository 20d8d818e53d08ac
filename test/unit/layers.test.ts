import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const SOURCES = resolve(import.meta.dirname, '../../src');

/** From the bottom up: what stands in a layer imports from its own and from those before it only. */
const LAYERS = [
  'classes',
  '', // The errors.
  'platform',
  'wire',
  'session',
  'lease',
  'lock',
  'election',
  'cluster',
  'node-cron',
  'testing',
  'cli',
];
const PUBLIC = 'index.ts';

interface Import {
  readonly file: string;
  readonly from: string;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(SOURCES, file), 'utf8');
  return [...text.matchAll(/(?:from|import) '([^']+)'/g)].map(([, from]) => ({ file, from: from as string }));
}

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
);
const imports = files.flatMap(importsOf);

const sourceOf = (file: string) => readFileSync(join(SOURCES, file), 'utf8');

function filesWith(pattern: RegExp, allowed: ReadonlySet<string>): string[] {
  return files.filter((file) => !allowed.has(file) && pattern.test(sourceOf(file)));
}

function layerOf(file: string): string {
  return dirname(file) === '.' ? '' : (file.split('/')[0] as string);
}

describe('the layers', () => {
  it('has a place for every folder', () => {
    expect(new Set(files.map(layerOf))).toEqual(new Set(LAYERS));
  });

  it('import one way only', () => {
    const wrong = imports
      .filter(({ file, from }) => from.startsWith('.') && file !== PUBLIC)
      .map(({ file, from }) => ({ file, target: relative(SOURCES, resolve(SOURCES, dirname(file), from)) }))
      .filter(({ file, target }) => LAYERS.indexOf(layerOf(target)) > LAYERS.indexOf(layerOf(file)));
    expect(imports.length).toBeGreaterThan(50);
    expect(wrong).toEqual([]);
  });

  it.each([
    ['node-zookeeper-client/lib/jute/index.js', ['session/protocol/requests.ts']],
    ['eventemitter3', ['platform/safe-emitter.ts']],
    ['pino', ['platform/logging/load-pino.ts']],
    [
      'commander',
      [
        'cli/options/arguments.ts',
        'cli/options/candidacy.ts',
        'cli/command-line.ts',
        'cli/options/connection.ts',
        'cli/commands/dev-server.ts',
        'cli/commands/elect.ts',
        'cli/commands/observe.ts',
        'cli/commands/resign.ts',
        'cli/commands/run.ts',
        'cli/options/seat.ts',
        'cli/commands/status.ts',
      ],
    ],
    [
      'node:child_process',
      [
        'cluster/guardian/child-process.ts',
        'cluster/workers/cluster-options.ts',
        'cluster/workers/cluster-supervisor.ts',
        'cluster/command/keeper-process.ts',
        'cluster/command/keeper.ts',
        'cluster/guardian/session-guardian.ts',
        'cluster/workers/worker-slot.ts',
      ],
    ],
    ['p-retry', ['platform/retry/retrying.ts']],
    [
      'node:net',
      [
        'session/connection/connect-string.ts',
        'session/connection/connection.ts',
        'session/connection/dialer.ts',
        'platform/environment.ts',
        'session/connection/outage.ts',
        'session/session-options.ts',
        'session/connection/transport.ts',
        'testing/state/acl.ts',
        'testing/server/connection.ts',
        'testing/server/server.ts',
        'testing/controls/test-clock.ts',
      ],
    ],
    [
      'node:tls',
      ['session/connection/dialer.ts', 'session/session-options.ts', 'session/connection/transport.ts'],
    ],
  ])('know %s in as few files as can be', (dependency, users) => {
    const found = imports.filter(({ from }) => from === dependency).map(({ file }) => file);
    expect(found.sort()).toEqual([...users].sort()); // Folders list their files in an order of their own.
  });

  it('read the clock, set timers and take chance from the environment only', () => {
    const allowed = new Set([
      'platform/time/timers.ts',
      'platform/time/clock.ts',
      'platform/environment.ts',
      'testing/controls/test-clock.ts',
    ]);
    const pattern =
      /\b(setTimeout|setInterval|setImmediate|Date\.now|new Date|performance\.now|Math\.random|randomUUID)\b/;
    expect(filesWith(pattern, allowed)).toEqual([]);
  });

  it('take timers and clocks from one file, which has them from before a test fakes the globals', () => {
    const globals =
      /\bprocess\.(nextTick|hrtime)\b|\b(performance|Date)\.now\(|\bnew Date\(\)|\bAbortSignal\.timeout\b|\bnode:timers\b/;
    expect(filesWith(globals, new Set(['platform/time/timers.ts']))).toEqual([]);
    const names = ['setTimeout', 'clearTimeout', 'setImmediate', 'queueMicrotask', 'nextTick'];
    const others = ['setInterval', 'clearInterval', 'clearImmediate'];
    expect(filesWith(new RegExp(`\\b(${others.join('|')})\\(`), new Set())).toEqual([]);
    for (const name of names) {
      const users = filesWith(new RegExp(`\\b${name}\\(`), new Set());
      expect(users.length).toBeGreaterThan(0);
      const imported = new RegExp(
        `import \\{[^}]*\\b${name}\\b[^}]*\\} from '(\\.\\.?/)+([a-z]+/)*timers\\.js'`,
      );
      expect(users.filter((file) => !imported.test(sourceOf(file)))).toEqual([]);
    }
  });
});
