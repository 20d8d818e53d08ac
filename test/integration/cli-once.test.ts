import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { serializeLastRun } from '../../src/jobs/last-run.js';
import { candidateNodes } from '../support/conclave/electors.js';
import { RunningCommand } from '../support/conclave/running-command.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { until } from '../support/waiting.mjs';

const HOUR = 3600_000;

/** What cron starts on one machine. */
function once(path: string, options: readonly string[], command: readonly string[]): RunningCommand {
  return new RunningCommand(['once', path, ...options, '--', ...command]);
}

const script = (text: string) => ['sh', '-c', text];

/** Writes the record of a run that a machine has begun so long ago. */
async function noteRun(path: string, agoMs: number): Promise<void> {
  const session = await openSession();
  const record = `${path}/cron/once`;
  const data = serializeLastRun({ at: Date.now() - agoMs, id: 'another', token: '1' });
  await session.ensurePath(record);
  await session.setData(record, data);
}

describe('conclave once', () => {
  it('runs the command on one of three machines, and the others exit with 0 and print nothing', async () => {
    const path = uniquePath('once');
    for (let firing = 0; firing < 2; firing++) {
      const machines = [1, 2, 3].map(() => once(path, ['--every', '1h'], script('echo ran; exit 3')));
      const codes = await Promise.all(machines.map((machine) => machine.exit()));
      expect(codes.sort()).toEqual([0, 0, 3]);
      expect(machines.map(({ stdout }) => stdout).sort()).toEqual(['', '', 'ran\n']);
      expect(machines.map(({ stderr }) => stderr)).toEqual(['', '', '']);
      await noteRun(path, HOUR);
    }
  });

  it('ends on the others as soon as one has begun, also if that is the first run of all', async () => {
    const path = uniquePath('once');
    const runner = once(path, ['--every', '1h'], script('echo begun; sleep 60'));
    await until(() => runner.stdout === 'begun\n');
    const other = once(path, ['--every', '1h', '-v'], script('echo no'));
    expect(await other.exit()).toBe(0);
    expect(other.stdout).toBe('');
    expect(other.stderr).toMatch(/^conclave: nothing to do: a run was begun at \d{4}-.*Z\n$/);
    await runner.end('SIGTERM');
  });

  it('does not join the election if a run was begun less than half of the period ago', async () => {
    const path = uniquePath('once');
    await noteRun(path, HOUR / 3);
    const late = once(path, ['--every', '1h'], script('echo no'));
    expect([await late.exit(), late.stdout, late.stderr]).toEqual([0, '', '']);
    await expect(candidateNodes(await openSession(), path)).resolves.toEqual([]);
  });

  it('runs the command if the last run was begun half of the period ago', async () => {
    const path = uniquePath('once');
    await noteRun(path, HOUR / 2);
    const machine = once(path, ['--every', '1h'], script('echo "$CONCLAVE_TERM $CONCLAVE_ELECTION"'));
    expect([await machine.exit(), machine.stdout]).toEqual([0, `1 ${path}\n`]);
  });

  it('exits with 75 if the command of the firing before still runs after its wait', async () => {
    const path = uniquePath('once');
    const runner = once(path, ['--every', '4s'], script('echo begun; sleep 60'));
    await until(() => runner.stdout === 'begun\n');
    await new Promise((over) => setTimeout(over, 2500));
    const next = once(path, ['--every', '4s', '--wait-timeout', '500ms'], script('echo no'));
    expect([await next.exit(), next.stdout, next.stderr]).toEqual([
      75,
      '',
      'conclave: not elected in time\n',
    ]);
    const nextWithDefault = once(path, ['--every', '4s'], script('echo no'));
    expect(await nextWithDefault.exit()).toBe(75);
    await runner.end('SIGTERM');
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'ran the command though %s came between its election and the start, and noted a firing without a run',
    async (signal) => {
      const path = uniquePath('once');
      const server = await startEmbedded();
      const words = ['once', path, '--every', '1h', '-v', '--', 'sh', '-c', 'echo ran'];
      const runner = new RunningCommand(words, { connect: server.connectString });
      server.delay(500, { path: /\/cron/ });
      await until(() => runner.stderr.includes('elected'), 'its election');
      expect([await runner.end(signal), runner.stdout]).toEqual([128 + constants.signals[signal], '']);
      expect(runner.stderr).not.toContain('lost');
      expect(server.paths(path)).not.toContain(`${path}/cron/once`);
    },
  );

  it('refuses a command line without a period, and commands that there are not', async () => {
    const path = uniquePath('once');
    const without = once(path, [], script('echo no'));
    expect([await without.exit(), without.stdout]).toEqual([64, '']);
    expect(without.stderr).toContain("required option '--every <duration>'");
    expect(await once(path, ['--every', '5', '--restart'], ['true']).exit()).toBe(64);
    expect(await once(path, ['--every', '1h'], ['no-such-command']).exit()).toBe(127);
  });
});
