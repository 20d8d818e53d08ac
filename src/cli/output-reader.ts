import { readdir, readFile, readlink } from 'node:fs/promises';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { ignore } from '../platform/async/promises.js';
import { type Clock, sleep } from '../platform/time/clock.js';

const LOOK_MS = 500;
// The last digit of `flags` in a descriptor's fdinfo, which is octal: open for reading, or for both.
const READABLE = /^flags:\s+\d*[02]$/m;

/**
 * Calls `task` when the pipe at this descriptor has no reader any more, unless `signal` has aborted. A process that writes
 * to it learns of that by EPIPE, so not before it has something to say, and Node doesn't tell of it otherwise. So the
 * process table is asked, where there is one (Linux). Never called if nothing can be known: the descriptor isn't a pipe, or
 * none of the processes that this user may look at reads it.
 *
 * Resolves when it has looked who reads it, before which nothing should be written: that may be all the reader waits for.
 */
export async function whenUnread(
  descriptor: number,
  clock: Clock,
  signal: Abortable,
  task: () => void,
): Promise<void> {
  const pipe = await pipeAt(process.pid, descriptor);
  const reader = pipe === undefined ? undefined : await findReader(pipe);
  if (pipe !== undefined && reader !== undefined) void follow(pipe, reader, clock, signal, task); // Never rejects.
}

async function follow(
  pipe: string,
  first: string,
  clock: Clock,
  signal: Abortable,
  task: () => void,
): Promise<void> {
  let reader: string | undefined = first;
  while (reader !== undefined) {
    await sleep(clock, LOOK_MS, signal).catch(ignore); // Seen next.
    if (signal.aborted) return;
    if (!(await reads(reader, pipe))) reader = await findReader(pipe); // Another one may have inherited it.
  }
  task();
}

/** The name that the system gives to a pipe, which is the same for all who have it open. */
async function pipeAt(pid: number | string, descriptor: number | string): Promise<string | undefined> {
  const name = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '');
  return name.startsWith('pipe:') ? name : undefined;
}

/** The process id of one that has the pipe open for reading. */
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

/** None of a process that has ended, or isn't for this user to look at. */
function entries(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
