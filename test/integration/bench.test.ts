import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { measureHandovers } from '../../bench/harness/handovers.mjs';
import { temporaryFolder } from '../support/temporary-folder.js';

/** The folder for the data of servers that mustn't wait for a disk. */
const MEMORY = '/dev/shm';
const MAIN = join(import.meta.dirname, '../../bench/main.mjs');

/** Starts the benchmark, with this folder for its results and temporary files. */
function start(folder: string, ...args: string[]) {
  const child = spawn(process.execPath, [MAIN, '--out', join(folder, 'results'), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, said }));
  return { child, ended };
}

describe('npm run bench', () => {
  it('measures, counts by the server, and keeps what it found', async () => {
    const folder = temporaryFolder();
    const words = ['--quick', '--only', 'uncontended,handover', '--rounds', '1', '--crowds', '5'];
    const { ended } = start(folder, ...words, '--contestants', 'Conclave lock,raw,ready-made packets');
    const { code, said } = await ended;
    expect(code, said).toBe(0);
    expect(said).toMatch(/0:\d\d {4}5 contenders, at once: round 1 of 1/);
    const results = join(folder, 'results');
    expect((await readdir(results)).sort()).toEqual(['handover.svg', 'results.json', 'results.md']);
    const { findings } = JSON.parse(await readFile(join(results, 'results.json'), 'utf8'));
    const [uncontended, handover] = findings;
    const names = ['Conclave lock', 'raw', 'ready-made packets'];
    expect(uncontended.table.map((cells: unknown[]) => [cells[0], cells[1], cells.at(-1)])).toEqual(
      ['one server, tmpfs', 'one server, tmpfs, 1 ms away'].flatMap((where) =>
        names.map((name) => [where, name, 3]),
      ),
    );
    expect(uncontended.notes.at(-1)).toMatch(
      /1 ms away: ready-made packets take [\d.]+ times Conclave lock\./,
    );
    expect(uncontended.notes.join('\n')).toMatch(/a read took [\d.]+ ms through it/);
    expect(said).toContain('kept: A lock that is released notifies the next contender alone (1 notified)');
    expect(handover.table.map((cells: unknown[]) => [cells[3], cells[2], cells.at(-1)])).toEqual([
      ['Conclave lock', 'at once', 1],
      ['raw', 'at once', 1],
      ['Conclave lock', 'after a while', 1],
      ['raw', 'after a while', 1],
    ]);
    expect(await readFile(join(results, 'results.md'), 'utf8')).toContain('| Conclave lock |');
    // The servers, their data and all other temporary files are gone.
    expect(await readdir(folder)).toEqual(['results']);
  }, 120_000);

  it('leaves a round out in which one of a large crowd breaks down, and says so', async () => {
    const program =
      "console.log('ready'); process.stdin.on('data', () => console.log('failed for its own reasons'))";
    const said: string[] = [];
    const plan = { servers: 1, pace: 'after a while', crowds: [101], rounds: 2 } as const;
    const measured = await measureHandovers({
      bench: { quick: true, rounds: 2, say: (text) => void said.push(text) },
      contestants: [
        { name: 'fragile', kind: 'lock', command: [process.execPath, '-e', program], recipe: 'lock' },
      ],
      plan,
      takesPart: () => true,
    });
    const failure = { name: 'fragile', reason: 'failed for its own reasons' };
    const failures = [1, 2].map((round) => ({ ...failure, round }));
    expect(measured).toEqual([
      { setting: { servers: 1, pace: plan.pace, crowd: 101 }, series: [], failures, notes: [] },
    ]);
    expect(said).toContain('fragile failed: failed for its own reasons');
  });

  it('leaves nothing behind when it is interrupted', async () => {
    const folder = temporaryFolder();
    const words = ['--quick', '--only', 'handover', '--contestants', 'raw', '--rounds', '1000'];
    const { child, ended } = start(folder, ...words);
    const before = await readdir(MEMORY);
    // The first line of a round reports its sessions. By then servers run, and a program has begun to contend.
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (text: string) => text.includes('round 1 of 1000') && resolve());
    });
    const own = (await readdir(MEMORY)).filter(
      (name) => name.startsWith('conclave-bench-') && !before.includes(name),
    );
    expect(own).not.toEqual([]);
    child.kill('SIGINT');
    const { code } = await ended;
    expect((await readdir(MEMORY)).filter((name) => own.includes(name))).toEqual([]);
    expect(code).toBe(130);
    expect(await readdir(folder)).toEqual([]);
    expect(await descendants(folder)).toEqual([]);
  });

  it('says what would be right when it is given a wrong option, and starts nothing', async () => {
    const folder = temporaryFolder();
    const { code, said } = await start(folder, '--only', 'handover,failover').ended;
    expect(code).toBe(1);
    expect(said).toContain("--only has 'failover': expected some of uncontended, handover,");
    expect(await readdir(folder)).toEqual([]);
  });
});

/** The processes that were started with this folder for their files. */
async function descendants(folder: string) {
  const found = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (environment.includes(folder)) found.push(pid);
  }
  return found;
}
