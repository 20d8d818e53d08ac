import { describe, expect, it } from 'vitest';
import { parseStat, readProcess, readProcesses } from '../../../../src/cluster/run-command/read-processes.js';

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
