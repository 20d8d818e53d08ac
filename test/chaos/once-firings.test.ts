import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { RunningCommand } from '../support/conclave/running-command.js';
import { uniquePath } from '../support/conclave/sessions.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { WallClock } from './nemesis/wall-clock.js';

// By hand: SOAK_ROUNDS=30 npx vitest run --project chaos test/chaos/once-firings.test.ts
const FIRINGS = Number(process.env.SOAK_ROUNDS ?? 3);
const EVERY_S = 60; // The shortest period of a crontab. It passes by the machines' clocks alone.
const BEHIND_S = [0, 0, 2];
/** In each second firing, the machine that is behind comes while the command runs; in the others, after its end. */
const COMMANDS = ['echo ran', 'echo ran; sleep 3'];

it('one of three machines runs the command of each firing, though the clock of one is two seconds behind', {
  timeout: 30_000 + FIRINGS * 15_000,
}, async () => {
  const folder = temporaryFolder();
  const path = uniquePath('once');
  const machines = BEHIND_S.map((behindS, nth) => ({
    behindS,
    clock: new WallClock(join(folder, `${nth}`)),
  }));
  const firings: { runs: number; codes: (number | string)[] }[] = [];
  for (let firing = 0; firing < FIRINGS; firing++) {
    const script = COMMANDS[firing % COMMANDS.length] as string;
    const words = ['once', path, '--every', `${EVERY_S}s`, '--', 'sh', '-c', script];
    const results = machines.map(async ({ behindS, clock }) => {
      clock.jump(firing * EVERY_S - behindS);
      await pause(behindS * 1000); // Its cron starts the line when its own clock says so.
      const command = new RunningCommand(words, { env: clock.env });
      const code = await command.exit();
      return { ran: command.stdout === 'ran\n', code, stderr: command.stderr };
    });
    const all = await Promise.all(results);
    expect(all.map(({ stderr }) => stderr)).toEqual(['', '', '']);
    firings.push({ runs: all.filter(({ ran }) => ran).length, codes: all.map(({ code }) => code) });
  }
  if (process.env.SOAK_ROUNDS !== undefined)
    console.log(`${FIRINGS} firings, runs of each: ${firings.map(({ runs }) => runs).join(' ')}`);
  expect(firings).toEqual(Array(FIRINGS).fill({ runs: 1, codes: [0, 0, 0] }));
});
