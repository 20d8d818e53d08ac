/**
 * The keeper: a small process between the runner, which holds the session, and the command that may run only while the runner
 * leads. The keeper starts the command, and the runner sends it each new end of the lease. If no renewal comes in time, the
 * keeper ends the command and its descendants before the lease's end. So they end even if the runner is stopped, blocked or
 * cut off. If the runner is gone, the keeper ends them at once.
 *
 * The keeper exits when the command is gone, or without a command when the runner closes the channel. If the runner was killed, the keeper
 * first closes the session that the runner left behind: no leader acts any more, so the next one needn't wait for the end of the lease.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { describe } from '../../errors.js';
import { standardErrorLogger } from '../../platform/logging/logger.js';
import { readingFirst, SystemClock, sleep } from '../../platform/time/clock.js';
import { msUntil } from '../../platform/time/machine-instant.js';
import { killMarginMs } from './command-deadlines.js';
import { endingWithParent, PosixSession, readProcess } from './command-processes.js';
import type {
  CommandLease,
  CommandLine,
  ExitCleanup,
  KeeperCommand,
  KeeperEvent,
} from './keeper-messages.js';
import { KeptCommand } from './kept-command.js';
import { leaveStandardStreams, outliveTerminals } from './outlive-terminal.js';

// Terminals, service managers and ending containers signal every process. The keeper has to stay until the command is gone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const)
  process.on(signal, () => undefined);
process.title = 'conclave keeper';
outliveTerminals();

// The system closes a killed process's files first. Its children get another parent a moment later, a long one on a busy machine.
const REPARENTED_WITHIN_MS = 5000;
const POLL_MS = 10;

const clock = new SystemClock();
let kept: KeptCommand | undefined;
let cleanup: ExitCleanup | undefined;
let endsWithRunner = false;

const endingWithKeeper = endingWithParent('KILL');

process.on('message', (message: KeeperCommand) => {
  switch (message.do) {
    case 'register-cleanup':
      cleanup = message.cleanup;
      return;
    case 'unregister-cleanup':
      cleanup = undefined;
      return;
    case 'start':
      endsWithRunner = message.endsWithRunner;
      return start(message, message);
    case 'extend-lease':
      return kept?.extendLease(() => msUntil(message.leaseEnd));
    case 'forward':
      return kept?.forward(message.signal);
    case 'end':
      return kept?.end(message.signal, message.graceMs);
  }
});
process.once('disconnect', () => {
  // The runner is gone. Only the next leader waits for a command that is slow to end, unless another keeper has killed the runner because
  // a lease of its own ends.
  if (kept === undefined) void exit();
  else kept.end('SIGTERM', endsWithRunner ? 0 : undefined);
});
send({ is: 'ready' });

function start(line: CommandLine, lease: CommandLease): void {
  const remainingMs = () => msUntil(lease.leaseEnd); // The lease runs on while the command is being started.
  if (remainingMs() <= killMarginMs(lease.leaseMs)) return finish({ is: 'too-late' });
  let child: ChildProcess;
  try {
    child = spawnSession(line);
  } catch (error) {
    return refuse(error); // Some of the system's refusals are thrown, others are events.
  }
  const { pid } = child;
  if (pid === undefined) return void child.once('error', refuse);
  const startedAt = readProcess(pid)?.startedAt;
  send({ is: 'started', session: pid, ...(startedAt !== undefined && { startedAt }) });
  const command = new KeptCommand({
    clock: readingFirst(clock), // The renewals of the lease that have come while this process paused.
    processes: new PosixSession(pid, startedAt),
    remainingMs,
    leaseMs: lease.leaseMs,
    graceMs: lease.graceMs,
    onLeaseRunningOut: () => send({ is: 'lease-running-out' }),
  });
  kept = command;
  child.once('exit', (code, signal) => {
    send({ is: 'exited', code, signal });
    command.onExit();
  });
  void command.gone.then(() => finish({ is: 'gone' }));
}

/** Starts the command as the leader of a session of processes, whose number is its process id. */
function spawnSession({ command, args, env }: CommandLine): ChildProcess {
  const [program = command, ...words] = [...endingWithKeeper, command, ...args];
  return spawn(program, words, { env, detached: true, stdio: 'inherit' });
}

function refuse(error: unknown): void {
  finish({ is: 'refused', reason: describe(error) });
}

/** Calls `then` when the message is sent, or at once if the runner is gone. */
function send(event: KeeperEvent, then: () => void = () => undefined): void {
  if (process.connected) process.send?.(event, then);
  else then();
}

function finish(event: KeeperEvent): void {
  send(event, () => void exit());
}

async function exit(): Promise<never> {
  leaveStandardStreams(); // The caller of the runner reads to the end of its output, and a clean-up may take long.
  if (cleanup !== undefined && (await hasEnded(cleanup.parentPid))) {
    // Loaded only when needed, which is seldom: the keeper has to be small, and ready soon.
    const { cleanUpSession } = await import('../dead-children/give-back-terms.js');
    const { absoluteConnectSource } = await import('../../session/connection/server-list.js');
    const { readTls } = await import('../../session/tls-files.js');
    const { connect, auth, sasl, tlsFiles, openSession } = cleanup;
    const tls = tlsFiles && (() => readTls(tlsFiles));
    const options = { auth, sasl, tls, logger: standardErrorLogger() };
    await cleanUpSession(absoluteConnectSource(connect), openSession, options);
  }
  process.exit();
}

/** Whether the parent has ended, and not just closed the channel: a process whose parent has ended gets another one. */
async function hasEnded(parentPid: number): Promise<boolean> {
  for (let waitedMs = 0; process.ppid === parentPid; waitedMs += POLL_MS) {
    if (process.connected || waitedMs >= REPARENTED_WITHIN_MS) return false;
    await sleep(clock, POLL_MS);
  }
  return true;
}
