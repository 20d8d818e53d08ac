import { readdirSync } from 'node:fs';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa, execaNode, type Options } from 'execa';
import { describe, expect, it } from 'vitest';
import { usePostgres } from '../../tools/postgres/server.mjs';
import { connectString } from '../support/conclave/sessions.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { concurrently, onTestFinished } from '../support/vitest/test-end.js';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'examples');
/** For an example that starts nine processes, one after the other, on a busy machine. */
const PATIENCE_MS = 120_000;

/** Copies an example into a project of its own, which has the packages that the example's README installs, and no others. */
async function copyOf(name: string): Promise<string> {
  const project = temporaryFolder();
  await cp(join(EXAMPLES, name), project, { recursive: true });
  await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const readme = await readFile(join(project, 'README.md'), 'utf8');
  const packages = [...readme.matchAll(/^npm install (.*)$/gm)].flatMap(([, names = '']) => names.split(' '));
  for (const each of packages) {
    const link = join(project, 'node_modules', each);
    await mkdir(dirname(link), { recursive: true });
    await symlink(each === 'conclave' ? ROOT : join(ROOT, 'node_modules', each), link);
  }
  return project;
}

/**
 * Starts a file of a copied example, as `tsx` does, but in one process: `tsx` passes a signal on to a child, which kills the child if that
 * is busy.
 */
const tsx = <T extends Options>(project: string, file: string, args: readonly string[], options: T) =>
  execa(process.execPath, ['--import', import.meta.resolve('tsx'), file, ...args], {
    ...options,
    cwd: project,
  });

/** Runs a copy of an example as a user would, on the servers of the tests. It ends with exit code 0. */
async function run(
  name: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<{ lines: string[]; output: string }> {
  const options = {
    env: { ZOOKEEPER: connectString(), ...env },
    all: true,
    reject: false,
    timeout: PATIENCE_MS - 2000,
  } as const;
  const { all: output, exitCode } = await tsx(await copyOf(name), 'main.ts', args, options);
  expect(exitCode, output).toBe(0);
  return { lines: output.split('\n'), output };
}

/** Runs the demo, which needs nothing but Node: whatever it would install or start is out of its reach. Returns its output. */
async function demo(...args: string[]): Promise<string> {
  const env = { ZOOKEEPER: '', PATH: dirname(process.execPath) };
  const options = { env, all: true, reject: false, timeout: 58_000 } as const;
  const { all: output, exitCode } = await execaNode(join(EXAMPLES, 'demo/main.mjs'), args, options);
  expect(exitCode, output).toBe(0);
  return output;
}

/** A database for an example, as its environment names it. */
async function database() {
  const postgres = await usePostgres();
  onTestFinished(() => postgres.stop());
  return { POSTGRES: postgres.connectionString };
}

/** Examples mostly wait, so some run at the same time. */
const example = (name: string, test: () => Promise<void>) =>
  it.concurrent(name, { timeout: PATIENCE_MS }, concurrently(test));

describe('the examples', () => {
  it('are those that are run here', () => {
    const folders = readdirSync(EXAMPLES);
    expect(folders.sort()).toEqual([
      'active-scheduler',
      'article',
      'cleanup-hook',
      'clustered-scheduler',
      'cron-jobs',
      'dashboard',
      'demo',
      'fenced-postgres',
      'guides',
      'rolling-restart',
      'sharded-consumers',
      'singleton-consumer',
      'testing-a-scheduler',
    ]);
  });

  example('article: fifteen nodes lead one after the other, each once', async () => {
    const { lines } = await run('article', ['--scale', '0.03', '--seed', '7']);
    expect(lines.filter((line) => line === 'Now I am leader, all must follow!')).toHaveLength(15);
    expect(
      lines.filter((line) => /^waiting for \/examples\/article\/_c_.*-lock-\d{10}!$/.test(line)).length,
    ).toBeGreaterThanOrEqual(14);
    const unlocked = lines
      .filter((line) => line.startsWith('Unlocking! /examples/article/_c_'))
      .map((line) => line.slice(-10));
    expect(unlocked).toHaveLength(15);
    expect(unlocked).toEqual([...unlocked].sort());
    expect(lines.at(-1)).toMatch(/^min \d+ ms, max \d+ ms, average \d+ ms$/);
  });

  example('cleanup-hook: the cache is dropped before the next election', async () => {
    const { lines } = await run('cleanup-hook');
    expect(lines.at(-1)).toBe('The cache was dropped before the next election: yes');
  });

  example('singleton-consumer: nothing is lost and nothing comes twice', async () => {
    const { lines } = await run('singleton-consumer');
    expect(lines).toContain('600 of 600 records in the log, in order and each once: yes');
  });

  example('rolling-restart: four workers, a job every 50 ms, and each job runs once', async () => {
    const { lines, output } = await run('rolling-restart');
    expect(output).toMatch(/^Each of the \d+ jobs, one every 50 ms, ran exactly once: yes$/m);
    const handovers = lines.filter((line) =>
      /^\w+ -> \w+: no leader for [\d.]+ ms, the first job/.test(line),
    );
    expect(handovers.length, output).toBeGreaterThanOrEqual(4);
  });

  example(
    'cron-jobs: one of two replicas runs each firing, and the other one goes on when it leaves',
    async () => {
      const options = {
        env: { ELECTION: '/examples/cron-jobs-of-a-test' },
        timeout: 50_000,
      } as const;
      const project = await copyOf('cron-jobs');
      const start = (id: string) => tsx(project, 'replica.ts', [connectString(), id], options);
      const firings: string[] = [];
      const a = start('A');
      let b: ReturnType<typeof start> | undefined;
      for await (const line of a) {
        firings.push(line);
        b ??= start('B');
        if (firings.length === 4) a.kill('SIGTERM');
      }
      for await (const line of b ?? []) {
        firings.push(line);
        if (line.startsWith('B') && firings.length >= 6) b?.kill('SIGTERM');
      }
      const [codeOfA, codeOfB] = [(await a).exitCode, (await b)?.exitCode];
      expect({ codeOfA, codeOfB }).toEqual({ codeOfA: 0, codeOfB: 0 });
      const parts = firings.map((line) => /^([AB]): (\S+Z), term (\d), token \d+$/.exec(line)?.slice(1, 4));
      expect(parts.map((part) => `${part?.[0]}${part?.[2]}`)).toEqual(
        firings.map((_, index) => (index < parts.findIndex((part) => part?.[0] === 'B') ? 'A1' : 'B2')),
      );
      const times = parts.map((part) => part?.[1]);
      expect(new Set(times).size, firings.join('\n')).toBe(times.length);
      expect(times).toEqual([...times].sort());
    },
  );

  example('cron-jobs: the leader is killed, and each second has its firing', async () => {
    const { lines } = await run('cron-jobs');
    expect(lines.findIndex((line) => line.startsWith('B: '))).toBeGreaterThan(
      lines.indexOf('--- A is killed'),
    );
    expect(lines.at(-1)).toMatch(/^\d+ firings, one for each second, in order: yes$/);
  });

  example(
    "fenced-postgres: a former leader's late write is refused, and its successor's stands",
    async () => {
      const { lines, output } = await run('fenced-postgres', [], await database());
      const tokens = lines
        .flatMap((line) => /^[AB] leads with token (\d+) /.exec(line)?.[1] ?? [])
        .map(BigInt);
      expect(tokens.length, output).toBeGreaterThanOrEqual(2);
      expect(tokens.at(-1)).toBeGreaterThan(tokens[0] as bigint);
      const [, late, refusal] =
        lines.map((line) => /^A goes on after \d+ ms and writes (\d+): (.*)$/.exec(line)).find(Boolean) ?? [];
      expect(refusal, output).toMatch(
        /^fenced out of account savings: a leader with a higher token than \d+ has entered$/,
      );
      const stands = /^The balance is (\d+)\. The late write was refused, its successor's stands: yes$/;
      const balance = lines.map((line) => stands.exec(line)?.[1]).find(Boolean);
      expect(balance, output).toBeDefined();
      expect(balance).not.toBe(late);
    },
  );

  example(
    'sharded-consumers: one joins, one is killed, one is drained; each event once and in order',
    async () => {
      const { lines, output } = await run('sharded-consumers', [], await database());
      expect(lines.filter((line) => /shards moved/.test(line))).toEqual([
        expect.stringMatching(/^A has 6, B has 6; shards moved: [06]$/),
        'A has 4, B has 4, C has 4; shards moved: 4',
        'B has 6, C has 6; shards moved: 4',
        'C has 12; shards moved: 6',
      ]);
      expect(output).toMatch(/^2400 of 2400 events handled\. Each once, and in order: yes$/m);
    },
  );

  example('demo: killed, resigned, expired; each tick once, never two leaders', async () => {
    const output = await demo();
    expect(output).toContain('the embedded ZooKeeper is for tests and demos only');
    expect(output).toMatch(/Failover took \d+ ms/);
    expect(output).toMatch(/yes {2}each of the \d+ ticks ran exactly once/);
    expect(output).toMatch(/yes {2}never two leaders, in \d+ terms/);
  });

  example(
    'demo of shards: one joins, one is killed, one is drained; only what has to move moves',
    async () => {
      const output = await demo('--shards');
      expect(output.match(/: yes$/gm), output).toHaveLength(2);
      expect(output).toMatch(/[A-C]( [A-C]){11} {3}4 moved/);
    },
  );

  example('demo runs on the servers that ZOOKEEPER names', async () => {
    const running = execaNode(join(EXAMPLES, 'demo/main.mjs'), [], {
      env: { ZOOKEEPER: connectString() },
      ipc: false,
      reject: false,
      timeout: 30_000,
    });
    const lines: string[] = [];
    for await (const line of running) {
      lines.push(line);
      if (line.includes('tick 2')) running.kill('SIGTERM');
    }
    expect(lines[0]).toContain(`ZOOKEEPER names the servers at ${connectString()}`);
    expect(lines.join('\n')).toMatch(/replica A is ELECTED/);
  });

  example('testing-a-scheduler: its tests pass, without a server', async () => {
    const project = await copyOf('testing-a-scheduler');
    const { all, exitCode } = await tsx(project, 'scheduler.test.ts', [], {
      // It is for its own test runner to say how it went.
      env: { ZOOKEEPER: '', NODE_TEST_CONTEXT: undefined },
      all: true,
      reject: false,
      timeout: 58_000,
    });
    expect(exitCode, all).toBe(0);
    expect(all).toMatch(/^# pass 6$/m);
  });

  example(
    'clustered-scheduler: the active worker is killed, then all are replaced; one at a time runs the job',
    async () => {
      const { lines } = await run('clustered-scheduler');
      expect(lines.filter((line) => /^term \d+: process \d+ ran the job \d+ times/.test(line))).toHaveLength(
        3,
      );
      expect(lines.at(-1)).toBe('One process at a time ran the job, term after term: yes');
    },
  );

  example('dashboard: shows an election, and ends at SIGTERM', async () => {
    const example = tsx(await copyOf('dashboard'), 'main.ts', [], {
      env: { ZOOKEEPER: connectString(), PORT: '0' },
      timeout: 50_000,
    });
    const shown: unknown[] = [];
    for await (const line of example) {
      shown.push(await (await fetch(`${line}api/elections`)).json());
      example.kill('SIGTERM');
    }
    expect((await example).exitCode).toBe(0);
    expect(shown).toEqual([
      {
        elections: expect.arrayContaining([
          expect.objectContaining({
            path: '/examples/dashboard',
            leader: expect.objectContaining({ id: expect.stringMatching(/^[ABC]$/) }),
          }),
        ]),
      },
    ]);
  });

  example(
    'active-scheduler: the leader is killed, the next one is stopped; one at a time runs the job',
    async () => {
      const { lines, output } = await run('active-scheduler');
      expect(output).toMatch(
        /^After the kill the job ran again within \d+ ms, after the stop within \d+ ms\.$/m,
      );
      expect(lines.at(-1)).toBe('One replica at a time ran the job, term after term: yes');
    },
  );

  example('active-scheduler alone prints its ticks, and leaves at SIGTERM', async () => {
    const replica = tsx(await copyOf('active-scheduler'), 'replica.ts', [connectString(), 'alone'], {
      env: { ELECTION: '/examples/alone', PERIOD_MS: '20' },
      timeout: 30_000,
    });
    for await (const line of replica) {
      expect(line).toMatch(/^alone: tick \d+, term \d+, token \d+$/);
      if (line.includes('tick 5,')) replica.kill('SIGTERM');
    }
    expect((await replica).exitCode).toBe(0);
  });
});
