import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type CommandRun,
  EXIT,
  exitCodeOfGuard,
  exitCodeOfRun,
  withSignal,
} from '../../../../src/cli/process/exit-codes.js';
import type { CommandOutcome } from '../../../../src/cluster/run-command/keeper-handle.js';

const uneventful: CommandRun = { forwarded: [] };
const exited = (code: number): CommandOutcome => ({ kind: 'ended', code, signal: null });
const killed = (signal: NodeJS.Signals): CommandOutcome => ({ kind: 'ended', code: null, signal });

it('a run keeps each signal that was forwarded once, however often it came', () => {
  const run = withSignal(withSignal(withSignal(uneventful, 'SIGHUP'), 'SIGUSR2'), 'SIGHUP');
  expect(run.forwarded).toEqual(['SIGHUP', 'SIGUSR2']);
});

describe('the exit code of conclave run', () => {
  it.each<[what: string, outcome: CommandOutcome, run: Partial<CommandRun>, code: number]>([
    ['the command’s code', exited(0), {}, 0],
    ['the command’s code', exited(3), {}, 3],
    ['128 + n at signal n', killed('SIGKILL'), {}, 137],
    ['128 + n at signal n', killed('SIGTERM'), { endSignal: 'SIGTERM' }, 143],
    ['the command’s code when a signal asked for the end', exited(0), { endSignal: 'SIGINT' }, 0],
    [
      'the command’s code when a signal asked for the end and leadership was lost then',
      exited(5),
      { endSignal: 'SIGINT', lossReason: 'x' },
      5,
    ],
    ['76 when leadership was lost, however the command ended', exited(0), { lossReason: 'x' }, EXIT.lost],
    [
      '76 when leadership was lost, however the command ended',
      killed('SIGKILL'),
      { lossReason: 'x' },
      EXIT.lost,
    ],
    ['76 when leadership was lost before it could be started', { kind: 'too-late' }, {}, EXIT.lost],
    [
      '128 + n when a signal asked for the end before the command was started',
      { kind: 'too-late' },
      { endSignal: 'SIGTERM' },
      143,
    ],
    ['71 when the system refuses', { kind: 'refused', reason: 'x' }, {}, EXIT.system],
  ])('is %s', (_, outcome, run, code) => {
    expect(exitCodeOfRun(outcome, { ...uneventful, ...run }, false)).toBe(code);
  });

  it('is undefined with --restart, for another campaign, unless the user has ended the command', () => {
    for (const outcome of [
      exited(0),
      exited(3),
      killed('SIGKILL'),
      killed('SIGHUP'),
      { kind: 'too-late' } as const,
    ])
      expect(exitCodeOfRun(outcome, uneventful, true)).toBeUndefined();
    expect(exitCodeOfRun(exited(0), { ...uneventful, lossReason: 'x' }, true)).toBeUndefined();
    expect(exitCodeOfRun({ kind: 'refused', reason: 'x' }, uneventful, true)).toBeUndefined();
    expect(exitCodeOfRun(exited(0), { ...uneventful, endSignal: 'SIGTERM' }, true)).toBe(0);
    expect(exitCodeOfRun({ kind: 'too-late' }, { ...uneventful, endSignal: 'SIGTERM' }, true)).toBe(143);
    expect(exitCodeOfRun(killed('SIGHUP'), { forwarded: ['SIGHUP'] }, true)).toBe(129);
    expect(exitCodeOfRun(exited(1), { forwarded: ['SIGHUP'] }, true)).toBeUndefined();
  });
});

describe('the exit code of conclave guard', () => {
  const refused: CommandOutcome = { kind: 'refused', reason: 'x' };

  it('is the program’s, or 128 + n at signal n, or 71 when the system refuses', () => {
    const outcomes = [exited(0), exited(3), killed('SIGKILL'), refused];
    expect(outcomes.map((outcome) => exitCodeOfGuard(outcome, uneventful, false))).toEqual([0, 3, 137, 71]);
  });

  it('is undefined with --restart, for another start, if the program has failed', () => {
    for (const outcome of [exited(3), killed('SIGKILL'), killed('SIGHUP'), refused])
      expect(exitCodeOfGuard(outcome, uneventful, true)).toBeUndefined();
    expect(exitCodeOfGuard(exited(1), { forwarded: ['SIGHUP'] }, true)).toBeUndefined();
  });

  it('is the program’s with --restart, too, if it was meant to end', () => {
    expect(exitCodeOfGuard(exited(0), uneventful, true)).toBe(0);
    expect(exitCodeOfGuard(exited(3), { ...uneventful, endSignal: 'SIGTERM' }, true)).toBe(3);
    expect(exitCodeOfGuard(killed('SIGKILL'), { ...uneventful, endSignal: 'SIGTERM' }, true)).toBe(137);
    expect(exitCodeOfGuard(killed('SIGHUP'), { forwarded: ['SIGHUP'] }, true)).toBe(129);
  });
});

describe('the table of exit codes in the docs', () => {
  const docs = readFileSync(join(import.meta.dirname, '../../../../docs/operations/cli.md'), 'utf8');
  const [, table = ''] = docs.split('\n## Exit codes\n');
  const rows = [...table.matchAll(/^\| ([^|]+) \| ([^|]+) \|/gm)].map(([, code = '', of = '']) => ({
    code,
    of,
  }));
  const codesOf = (name: string) =>
    rows
      .filter(({ of }) => of === 'all' || of.includes(`\`${name}\``))
      .flatMap(({ code }) => code.split(', '));

  it('has each code once', () => {
    const codes = rows.flatMap(({ code }) => code.split(', ')).filter((code) => /^\d+$/.test(code));
    expect(codes.map(Number)).toEqual(Object.values(EXIT));
  });

  it.each(['run', 'once', 'guard', 'status', 'resign', 'prune', 'shards', 'dashboard', 'dev-server'])(
    'has all that the help of %s names',
    (name) => {
      const source = readFileSync(
        join(import.meta.dirname, `../../../../src/cli/commands/${name}.ts`),
        'utf8',
      );
      const help = source.match(/[Ee]xits with[\s\S]*?(?:Example|Stop it|`)/g)?.join(' ') ?? '';
      const named = [...help.matchAll(/\b(6[49]|7[14567]|12[67])\b/g)].map(([code]) => code);
      expect(codesOf(name)).toEqual(expect.arrayContaining(named));
      expect(named.length + codesOf(name).length).toBeGreaterThan(4);
    },
  );
});
