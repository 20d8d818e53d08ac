import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  PosixSession,
  parseStat,
  readProcess,
  readProcesses,
} from '../../../../src/cluster/run-command/command-processes.js';
import { until } from '../../../support/waiting.mjs';

/** Starts a shell that leads a session of its own, and runs a script. */
function inSession(script: string) {
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const pid = child.pid as number;
  const session = new PosixSession(pid, readProcess(pid)?.startedAt);
  onTestFinished(() => session.signal('SIGKILL'));
  return { child, pid, session };
}

describe('a session of processes', () => {
  it('is there while one of its processes is, also without its leader', async () => {
    const { child, session } = inSession('sleep 60 & exit 0');
    await once(child, 'exit');
    expect(session.isGone()).toBe(false);
    session.signal('SIGKILL');
    await until(() => session.isGone(), 'its end');
    session.signal('SIGKILL'); // Reaches no process.
  });

  it('is signalled and watched in all its process groups', async () => {
    const { child, pid, session } = inSession('timeout 60 sleep 50 & timeout 60 sleep 40 & sleep 30');
    const groups = () => new Set(members(pid).map(({ group }) => group));
    await until(() => groups().size === 3, 'three groups');
    process.kill(-pid, 'SIGKILL');
    await once(child, 'exit');
    await until(() => !groups().has(pid), 'the end of the first');
    expect(session.isGone()).toBe(false);
    session.signal('SIGTERM');
    await until(() => session.isGone(), 'the end of the others');
    expect(members(pid).filter(({ isDead }) => !isDead)).toEqual([]);
  });

  it('is gone when only zombies are left of it', async () => {
    // The shell becomes a program that doesn't wait for its children.
    const parent = inSession('setsid sleep 60 & echo $!; exec sleep 60');
    const pid = Number(String((await once(parent.child.stdout, 'data'))[0]));
    const entry = () => readProcess(pid);
    await until(() => entry()?.session === pid, 'a session of its own');
    const session = new PosixSession(pid, entry()?.startedAt);
    expect(session.isGone()).toBe(false);
    session.signal('SIGKILL');
    await until(() => entry()?.isDead === true, 'a zombie');
    expect(spawnSync('kill', ['-0', '--', `-${pid}`]).status).toBe(0);
    expect(session.isGone()).toBe(true);
    parent.session.signal('SIGKILL');
    await once(parent.child, 'exit');
  });

  it('is sent nothing when its number has become another session’s', async () => {
    const { child, pid } = inSession('sleep 60');
    const former = new PosixSession(pid, (readProcess(pid)?.startedAt ?? 0) - 1);
    expect(former.isGone()).toBe(true);
    former.signal('SIGKILL');
    expect(spawnSync('kill', ['-0', String(pid)]).status).toBe(0);
    new PosixSession(pid, undefined).signal('SIGKILL');
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  });
});

function members(session: number) {
  return readProcesses().filter((entry) => entry.session === session);
}

const line = (name: string, state: string, threads = 1) =>
  `4711 (${name}) ${state} 1 4700 4690 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 ${threads} 0 3344556 1000 10 18446744073709551615`;

describe('the process table', () => {
  it('is read whatever the name of the program is', () => {
    for (const name of ['sleep', 'a b', ') R 1 2 3 (', '(sd-pam)', ''])
      expect(parseStat(line(name, 'S'))).toEqual({
        pid: 4711,
        isDead: false,
        parent: 1,
        group: 4700,
        session: 4690,
        startedAt: 3344556,
      });
  });

  it('distinguishes a zombie from a process of which only the first thread has ended', () => {
    expect(parseStat(line('java', 'Z'))?.isDead).toBe(true);
    expect(parseStat(line('java', 'X'))?.isDead).toBe(true);
    expect(parseStat(line('java', 'Z', 7))?.isDead).toBe(false);
    expect(parseStat(line('java', 'D'))?.isDead).toBe(false);
  });

  it('has no entry for a malformed line, nor for a missing process', () => {
    for (const text of ['', '4711', '4711 (sleep) S', 'x (sleep) S 1 2 3', line('sleep', 'S').slice(0, 40)])
      expect(parseStat(text)).toBeUndefined();
    expect(readProcess(2 ** 30)).toBeUndefined();
  });

  it('contains this process', () => {
    expect(readProcess(process.pid)).toMatchObject({ pid: process.pid, parent: process.ppid, isDead: false });
    expect(readProcesses().map(({ pid }) => pid)).toContain(process.pid);
  });
});
