import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ProcessGroup } from '../../src/cluster/command/process-group.js';
import { parseStat, readProcess, readProcesses } from '../../src/cluster/command/process-table.js';
import { until } from '../helpers/cluster.js';

const line = (name: string, state: string, threads = 1) =>
  `4711 (${name}) ${state} 1 4700 4700 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 ${threads} 0 3344556 1000 10 18446744073709551615`;

describe('the process table', () => {
  it('is read whatever a program calls itself', () => {
    for (const name of ['sleep', 'a b', ') R 1 2 3 (', '(sd-pam)', ''])
      expect(parseStat(line(name, 'S'))).toEqual({
        pid: 4711,
        isDead: false,
        parent: 1,
        group: 4700,
        startedAt: 3344556,
      });
  });

  it('tells a process that has ended from one whose first thread has', () => {
    expect(parseStat(line('java', 'Z'))?.isDead).toBe(true);
    expect(parseStat(line('java', 'X'))?.isDead).toBe(true);
    expect(parseStat(line('java', 'Z', 7))?.isDead).toBe(false);
    expect(parseStat(line('java', 'D'))?.isDead).toBe(false);
  });

  it('has no entry for what is none', () => {
    for (const text of ['', '4711', '4711 (sleep) S', 'x (sleep) S 1 2 3', line('sleep', 'S').slice(0, 40)])
      expect(parseStat(text)).toBeUndefined();
    expect(readProcess(2 ** 30)).toBeUndefined();
  });

  it('has this process, as it is', () => {
    expect(readProcess(process.pid)).toMatchObject({ pid: process.pid, parent: process.ppid, isDead: false });
    expect(readProcesses().map(({ pid }) => pid)).toContain(process.pid);
  });
});

/** A shell in a group of its own, with this to do. */
function inGroup(script: string) {
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const pid = child.pid as number;
  return { child, pid, group: new ProcessGroup(pid, readProcess(pid)?.startedAt) };
}

describe('a process group', () => {
  it('is there while one of it is, also without its leader', async () => {
    const { child, group } = inGroup('sleep 60 & exit 0');
    await once(child, 'exit');
    expect(group.isGone()).toBe(false);
    group.signal('SIGKILL');
    await until(() => group.isGone(), 'the end of the group');
    group.signal('SIGKILL'); // To nobody.
  });

  it('is gone when only zombies are left of it', async () => {
    // Its parent becomes a program that takes no note of the end of its children.
    const parent = inGroup('setsid sleep 60 & echo $!; exec sleep 60');
    const pid = Number(String((await once(parent.child.stdout, 'data'))[0]));
    const entry = () => readProcess(pid);
    await until(() => entry()?.group === pid, 'a group of its own');
    const group = new ProcessGroup(pid, entry()?.startedAt);
    expect(group.isGone()).toBe(false);
    group.signal('SIGKILL');
    await until(() => entry()?.isDead === true, 'a zombie');
    expect(spawnSync('kill', ['-0', `-${pid}`]).status).toBe(0);
    expect(group.isGone()).toBe(true);
    parent.group.signal('SIGKILL');
    await once(parent.child, 'exit');
  });

  it('is sent nothing when its number has become another one’s', async () => {
    const { child, pid } = inGroup('sleep 60');
    const former = new ProcessGroup(pid, (readProcess(pid)?.startedAt ?? 0) - 1);
    expect(former.isGone()).toBe(true);
    former.signal('SIGKILL');
    expect(spawnSync('kill', ['-0', String(pid)]).status).toBe(0);
    new ProcessGroup(pid, undefined).signal('SIGKILL');
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  });
});
