/**
 * The keeper: a small process between the one that leads and the command that may run only meanwhile. It starts the
 * command, and is told each new end of the lease. When no word comes in time it ends the command, and all that comes from it,
 * before the lease's end, so also when the process that leads is stopped, blocked or cut off; when that is gone, at once.
 *
 * It ends when the command is gone, or with the process that leads if it has none. If that was killed, it closes the session
 * first that it has left behind: the next leader needn't wait for what can't act any more.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { describe } from '../../errors.js';
import { standardErrorLogger } from '../../platform/logging/logger.js';
import { msUntil, SystemClock, sleep } from '../../platform/time/clock.js';
import { killMarginMs } from './command-deadlines.js';
import type { CommandLine, ExitCleanup, KeeperCommand, KeeperEvent, Terms } from './keeper-messages.js';
import { KeptCommand } from './kept-command.js';
import { ProcessSession } from './process-session.js';
import { readProcess } from './process-table.js';

// What a terminal, a service manager or a container's end sends to everybody is not for the keeper: it has to be there
// until the command is gone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const)
  process.on(signal, () => undefined);
process.title = 'conclave keeper';

// A process that is killed closes its files first, and a moment later, a long one on a busy machine, its children are told.
const ENDED_WITHIN_MS = 5000;
const LOOK_MS = 10;

const clock = new SystemClock();
let kept: KeptCommand | undefined;
let legacy: ExitCleanup | undefined;

/** util-linux's program, if it is here: the kernel kills the command itself when the keeper is killed. */
const guard = ['setpriv', '--pdeathsig', 'KILL'] as const;
const isGuarded =
  process.platform === 'linux' &&
  spawnSync(guard[0], [...guard.slice(1), 'true'], { stdio: 'ignore' }).status === 0;

process.on('message', (order: KeeperCommand) => {
  switch (order.do) {
    case 'inherit':
      legacy = order.legacy;
      return;
    case 'disinherit':
      legacy = undefined;
      return;
    case 'start':
      return start(order, order);
    case 'extend':
      return kept?.extend(msUntil(order.leaseEnd));
    case 'forward':
      return kept?.forward(order.signal);
    case 'end':
      return kept?.end(order.signal, order.graceMs);
  }
});
process.once('disconnect', () => {
  // The process that leads is gone, and nobody waits for a command that is slow to end but the next leader.
  if (kept === undefined) void leave();
  else kept.end('SIGTERM');
});
tell({ is: 'ready' });

function start(line: CommandLine, terms: Terms): void {
  // The lease goes on while the command is being started.
  const leaseEnd = clock.now() + msUntil(terms.leaseEnd);
  const remainingMs = leaseEnd - clock.now();
  if (remainingMs <= killMarginMs(terms.leaseMs)) return finish({ is: 'too-late' });
  let child: ChildProcess;
  try {
    child = spawnSession(line);
  } catch (error) {
    return refuse(describe(error)); // Some of the system's refusals are thrown, others are events.
  }
  const { pid } = child;
  if (pid === undefined) return void child.once('error', (error) => refuse(describe(error)));
  const startedAt = readProcess(pid)?.startedAt;
  tell({ is: 'started', session: pid, ...(startedAt !== undefined && { startedAt }) });
  const command = new KeptCommand({
    clock,
    processes: new ProcessSession(pid, startedAt),
    remainingMs: leaseEnd - clock.now(),
    leaseMs: terms.leaseMs,
    graceMs: terms.graceMs,
    onLeaseRunningOut: () => tell({ is: 'running-out' }),
  });
  kept = command;
  child.once('exit', (code, signal) => {
    tell({ is: 'exited', code, signal });
    command.exited();
  });
  void command.gone.then(() => finish({ is: 'gone' }));
}

/** In a session of its own, whose number is its process id. */
function spawnSession({ command, args, env }: CommandLine): ChildProcess {
  const [program, ...words] = isGuarded ? [...guard, '--', command, ...args] : [command, ...args];
  return spawn(program, words, { env, detached: true, stdio: 'inherit' });
}

function refuse(why: string): void {
  finish({ is: 'refused', why });
}

function tell(news: KeeperEvent, then: () => void = () => undefined): void {
  // Without the process that leads there is nobody to be told.
  if (process.connected) process.send?.(news, then);
  else then();
}

function finish(news: KeeperEvent): void {
  tell(news, () => void leave());
}

async function leave(): Promise<never> {
  if (legacy !== undefined && (await hasEnded(legacy.of))) {
    const { cleanUpSession } = await import('../guardian/session-cleanup.js'); // Seldom needed: a keeper is to be small, and there soon.
    await cleanUpSession(legacy.servers, legacy.estate, { ...legacy.session, logger: standardErrorLogger() });
  }
  process.exit();
}

/** Whether the process that leads has ended, and not just closed the channel: what has lost its parent has another one. */
async function hasEnded(leader: number): Promise<boolean> {
  for (let waitedMs = 0; process.ppid === leader; waitedMs += LOOK_MS) {
    if (process.connected || waitedMs >= ENDED_WITHIN_MS) return false;
    await sleep(clock, LOOK_MS);
  }
  return true;
}
