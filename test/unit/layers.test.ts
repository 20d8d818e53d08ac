import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readModules, SOURCES, upwardImportsOf } from './structure.js';

/**
 * The folders from the bottom up. The files of a folder import only from their own folder, from folders of the same line, and from
 * folders of the lines before.
 */
const ROOMS = [
  ['public-class'],
  ['.'], // The errors.
  ['platform', 'platform/async', 'platform/collections', 'platform/time'],
  ['platform/logging'],
  ['platform/retry'],
  ['wire'],
  ['session/protocol'],
  ['session/sasl'],
  ['session/connection', 'session/connection-thread'],
  ['session/keep-alive'],
  ['session'],
  ['session/observers'],
  ['lease'],
  ['held-term'],
  ['fence'],
  ['queue'],
  ['lock'],
  ['lock/multi-lock'],
  ['election/requests'],
  ['election/record', 'election/candidates'],
  ['election/term'],
  ['election/watchdog'],
  ['election/observer'],
  ['election'],
  ['shards/stored'],
  ['shards/members'],
  ['cluster/dead-children'],
  ['cluster/run-command'],
  ['cluster/supervisor'],
  ['cluster/workers'],
  ['shards/ownership'],
  ['shards/planner'],
  ['shards'],
  ['shards/observer'],
  ['shards/supervisor'],
  ['overview/model'],
  ['overview/reading'],
  ['overview'],
  ['dashboard'],
  ['dashboard/page/model'],
  ['dashboard/page/browser'],
  [
    'dashboard/page/view',
    'dashboard/page/view/cards',
    'dashboard/page/view/panels',
    'dashboard/page/view/parts',
  ],
  ['dashboard/page'],
  ['jobs'],
  ['kerberos'],
  ['metrics/model'],
  ['metrics/export'],
  ['metrics/collectors'],
  ['metrics'],
  ['testing', 'testing/controls', 'testing/protocol', 'testing/server', 'testing/state'],
  ['cli/process'],
  ['cli/options'],
  ['cli/prune'],
  ['cli/status'],
  ['cli/guard'],
  ['cli/lead-then-run'],
  ['cli/commands'],
  ['cli'],
  ['nestjs'],
];
/** No file imports these, so they import from any folder: what users import, and what a thread begins with. */
const OUTERMOST: readonly string[] = ['index.ts', 'session/connection-thread/thread-main.ts'];

const modules = readModules(SOURCES);

/** The modules that run in Node. The dashboard's page runs in a browser, which has a clock and timers of its own. */
const inNode = modules.filter(({ file }) => !file.startsWith('dashboard/page/'));

function filesWith(pattern: RegExp, allowed: ReadonlySet<string>): string[] {
  const found = inNode.filter(({ file, text }) => !allowed.has(file) && pattern.test(text));
  return found.map(({ file }) => file);
}

describe('the layers', () => {
  it('has a place for every folder', () => {
    expect(new Set(modules.map(({ file }) => dirname(file)))).toEqual(new Set(ROOMS.flat()));
  });

  it('import one way only', () => {
    expect(modules.flatMap(({ imports }) => imports).length).toBeGreaterThan(50);
    const inner = modules.filter(({ file }) => !OUTERMOST.includes(file));
    expect(upwardImportsOf(inner, ROOMS)).toEqual([]);
  });

  it.each([
    ['node-zookeeper-client/lib/jute/index.js', ['session/protocol/requests.ts']],
    ['eventemitter3', ['platform/safe-emitter.ts']],
    ['pino', ['platform/logging/logger.ts']],
    [
      'commander',
      [
        'cli/options/argument-parsers.ts',
        'cli/options/candidate-options.ts',
        'cli/command-line.ts',
        'cli/options/connection-options.ts',
        'cli/commands/dev-server.ts',
        'cli/commands/guard.ts',
        'cli/commands/once.ts',
        'cli/commands/prune.ts',
        'cli/commands/resign.ts',
        'cli/commands/run.ts',
        'cli/commands/shards.ts',
        'cli/commands/status.ts',
        'cli/commands/dashboard.ts',
      ],
    ],
    [
      'node:child_process',
      [
        'cluster/dead-children/session-guardian.ts',
        'cluster/workers/cluster-options.ts',
        'cluster/workers/cluster-supervisor.ts',
        'cli/guard/guarded-program.ts',
        'cluster/run-command/command-processes.ts',
        'cluster/run-command/keeper-handle.ts',
        'cluster/run-command/keeper.ts',
        'cluster/workers/worker-slot.ts',
      ],
    ],
    ['p-retry', ['platform/retry/retry.ts']],
    ['string-width', ['cli/status/text-table.ts']],
    [
      'node:net',
      [
        'session/connection/connect-string.ts',
        'session/connection/server-rounds.ts',
        'cli/commands/dashboard.ts',
        'kerberos/kerberos.ts',
        'platform/injected-environment.ts',
        'platform/name-lookups.ts',
        'overview/reading/heartbeat-and-server-polls.ts',
        'session/connection/outage.ts',
        'session/session-options.ts',
        'session/connection/tcp-and-tls.ts',
        'testing/state/acl.ts',
        'testing/server/client-connection.ts',
        'testing/server/embedded-server.ts',
        'testing/controls/test-clock.ts',
        'election/watchdog/watchdog-thread.ts',
      ],
    ],
    [
      '@nestjs/common',
      [
        'nestjs/conclave-module.ts',
        'nestjs/leader-only.ts',
        'nestjs/method-decoration.ts',
        'nestjs/injection-tokens.ts',
      ],
    ],
    ['node:tls', ['session/session-options.ts', 'session/connection/tcp-and-tls.ts']],
  ])('know %s in as few files as can be', (dependency, users) => {
    const found = modules.filter(({ packages }) => packages.includes(dependency)).map(({ file }) => file);
    expect(found.sort()).toEqual([...users].sort()); // Folders list their files in an order of their own.
  });

  it('print through one escape', () => {
    const pattern = /^(?!\s*(?:\*|\/\/)).*\b(?:console\.\w+|process\.std(?:out|err)\.write)\(/m;
    const allowed = new Set([
      'cli/process/output.ts',
      'platform/logging/lossy-output.ts',
      'election/watchdog/watchdog-thread.ts',
    ]);
    expect(filesWith(pattern, allowed)).toEqual([]);
  });

  it('read the clock, set timers and take chance from the environment only', () => {
    const allowed = new Set([
      'platform/time/timers.ts',
      'platform/time/clock.ts',
      'platform/injected-environment.ts',
      'testing/controls/test-clock.ts',
      'election/watchdog/watchdog-thread.ts', // The environment lives in the main thread, which is blocked when this one acts.
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
      const importers = filesWith(imported, new Set());
      expect(users.filter((file) => !importers.includes(file))).toEqual([]);
    }
  });
});
