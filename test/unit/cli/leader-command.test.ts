import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-codes.js';
import { type CommandRun, exitCode } from '../../../src/cli/leader-command.js';
import type { CommandOutcome } from '../../../src/cluster/command/keeper-process.js';

const uneventful: CommandRun = { forwarded: new Set() };
const exited = (code: number): CommandOutcome => ({ kind: 'ended', code, signal: null });
const killed = (signal: NodeJS.Signals): CommandOutcome => ({ kind: 'ended', code: null, signal });

describe('what conclave run exits with', () => {
  it.each<[what: string, outcome: CommandOutcome, course: Partial<CommandRun>, code: number]>([
    ['the command’s code', exited(0), {}, 0],
    ['the command’s code', exited(3), {}, 3],
    ['128 + n at signal n', killed('SIGKILL'), {}, 137],
    ['128 + n at signal n', killed('SIGTERM'), { told: 'SIGTERM' }, 143],
    ['the command’s code when it was told to end', exited(0), { told: 'SIGINT' }, 0],
    [
      'the command’s code when it was told to end and leadership was lost then',
      exited(5),
      { told: 'SIGINT', lost: 'x' },
      5,
    ],
    ['76 when leadership was lost, whatever the command says', exited(0), { lost: 'x' }, EXIT.lost],
    ['76 when leadership was lost, whatever the command says', killed('SIGKILL'), { lost: 'x' }, EXIT.lost],
    ['76 when leadership was lost before it could be started', { kind: 'too-late' }, {}, EXIT.lost],
    [
      '128 + n when it was told to end before the command was started',
      { kind: 'too-late' },
      { told: 'SIGTERM' },
      143,
    ],
    ['71 when the system refuses', { kind: 'refused', why: 'x' }, {}, EXIT.system],
  ])('is %s', (_, outcome, course, code) => {
    expect(exitCode(outcome, { ...uneventful, ...course }, false)).toBe(code);
  });

  it('with --restart is nothing, but to stand again, unless the user has ended it', () => {
    for (const outcome of [
      exited(0),
      exited(3),
      killed('SIGKILL'),
      killed('SIGHUP'),
      { kind: 'too-late' } as const,
    ])
      expect(exitCode(outcome, uneventful, true)).toBeUndefined();
    expect(exitCode(exited(0), { ...uneventful, lost: 'x' }, true)).toBeUndefined();
    expect(exitCode({ kind: 'refused', why: 'x' }, uneventful, true)).toBeUndefined();
    expect(exitCode(exited(0), { ...uneventful, told: 'SIGTERM' }, true)).toBe(0);
    expect(exitCode({ kind: 'too-late' }, { ...uneventful, told: 'SIGTERM' }, true)).toBe(143);
    expect(exitCode(killed('SIGHUP'), { forwarded: new Set(['SIGHUP']) }, true)).toBe(129);
    expect(exitCode(exited(1), { forwarded: new Set(['SIGHUP']) }, true)).toBeUndefined();
  });
});
