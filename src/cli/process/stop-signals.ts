import { readdir, readFile, readlink } from 'node:fs/promises';
import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import { ignore } from '../../platform/async/promises.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import { sleep } from '../../platform/time/clock.js';

/**
 * Calls `stop` at a signal to stop, and when no process reads standard output any more, unless `signal` has aborted. `stop` may be called
 * more than once.
 *
 * A process learns that the reader of its pipe has gone by EPIPE only, so not before it writes, which may be a week away, and Node reports
 * it in no other way. So this function polls the process table, where there is one (Linux), unless standard output isn't a pipe, or no
 * process that this user may inspect reads it. Resolves when it has looked for the reader. Write nothing before: the reader may wait for
 * one line only, and end.
 */
export async function whenStopAsked(signal: Abortable, stop: () => void): Promise<void> {
  void untilSignal().then(stop);
  process.stdout.once('error', stop); // EPIPE: the reader has closed the pipe.
  const pipe = await pipeAt(process.pid, process.stdout.fd);
  const reader = pipe === undefined ? undefined : await findReader(pipe);
  if (pipe !== undefined && reader !== undefined) void poll(pipe, reader, signal, stop); // Never rejects.
}

/** These make a candidate leave the queue while it waits. The others are for the leader's work, and are ignored until then. */
export const LEAVE_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP'];

/** With these the user ends the command of `conclave run`. It gets them, and SIGKILL follows when the grace is over. */
export const END_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGQUIT'];

/** These only go to the command: to many programs SIGHUP says that their configuration has changed. */
export const FORWARDED_SIGNALS: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'];

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves at the first signal to stop. From then on signals have their default effect: a second Ctrl+C ends the process. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => void onStopSignal(() => resolve()));
}

/**
 * Calls back at the first signal to stop. From then on signals have their default effect.
 * @returns a function that stops listening to them
 */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): () => void {
  const end = () => {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    end();
    stop(signal);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return end;
}

const POLL_MS = 500;
// The last digit of `flags` in a descriptor's fdinfo, which is octal: open for reading, or for reading and writing.
const READABLE = /^flags:\s+\d*[02]$/m;

async function poll(pipe: string, first: string, signal: Abortable, stop: () => void): Promise<void> {
  let reader: string | undefined = first;
  while (reader !== undefined) {
    await sleep(systemEnvironment.clock, POLL_MS, signal).catch(ignore); // The next line sees the abort.
    if (signal.aborted) return;
    if (!(await reads(reader, pipe))) reader = await findReader(pipe); // Another process may have inherited the pipe.
  }
  stop();
}

/** The system's name of a pipe, the same in all processes that have it open. */
async function pipeAt(pid: number | string, descriptor: number | string): Promise<string | undefined> {
  const name = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '');
  return name.startsWith('pipe:') ? name : undefined;
}

/** The id of a process that has the pipe open for reading. */
async function findReader(pipe: string): Promise<string | undefined> {
  for (const pid of await entries('/proc')) if (/^\d+$/.test(pid) && (await reads(pid, pipe))) return pid;
  return undefined;
}

async function reads(pid: string, pipe: string): Promise<boolean> {
  for (const descriptor of await entries(`/proc/${pid}/fd`)) {
    if ((await pipeAt(pid, descriptor)) !== pipe) continue;
    const info = await readFile(`/proc/${pid}/fdinfo/${descriptor}`, 'latin1').catch(() => '');
    if (READABLE.test(info)) return true;
  }
  return false;
}

/** Empty for a process that has ended, or that this user may not inspect. */
function entries(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
