import { type ProcessEntry, readProcess, readProcesses } from './read-processes.js';

/** A command and those of its descendants that have to end with it. */
export type CommandProcesses = Pick<PosixSession, 'signal' | 'isGone'>;

/**
 * A session of processes in the sense of POSIX (`setsid`): its leader and all descendants, except those that have begun
 * sessions of their own. On Linux, where the process table shows them, all its process groups count: a shell with job
 * control makes one for each job, and so does `timeout`. Elsewhere only the leader's group counts.
 *
 * The session's number is its leader's process id. The system gives it to no other process as long as anything is left of
 * the session, even a zombie; after that it may. So if a process with this number started at another time than our leader,
 * our session is gone, and we send that process nothing.
 */
export class PosixSession {
  readonly #id: number;
  readonly #startedAt: number | undefined;

  /** @param startedAt - when its leader was started, by the process table, where there is one */
  constructor(id: number, startedAt: number | undefined) {
    this.#id = id;
    this.#startedAt = startedAt;
  }

  /** Sends a signal to all of them. Does nothing if they are gone. */
  signal(name: NodeJS.Signals): void {
    if (this.#isReplaced()) return;
    trySignal(-this.#id, name); // First, without a delay: the other groups have to be looked up.
    for (const group of new Set(this.#members().map((member) => member.group)))
      if (group !== this.#id) trySignal(-group, name);
  }

  /** Whether none of them runs any more. */
  isGone(): boolean {
    if (this.#isReplaced()) return true;
    // One look proves nothing: while it goes on, a process ahead of it may fork a child behind it, and end before the look comes.
    return this.#seemsGone() && this.#seemsGone();
  }

  #seemsGone(): boolean {
    const members = this.#members();
    if (members.some(({ isDead }) => !isDead)) return false;
    // Zombies count as gone: in a container whose first process doesn't reap them they stay for good. But a group without
    // visible members counts as alive while it takes signals: the system may hide other users' processes.
    return members.length > 0 || !trySignal(-this.#id, 0);
  }

  #members(): ProcessEntry[] {
    return readProcesses().filter(({ session }) => session === this.#id);
  }

  #isReplaced(): boolean {
    const leader = this.#startedAt === undefined ? undefined : readProcess(this.#id);
    return leader !== undefined && leader.startedAt !== this.#startedAt;
  }
}

/** Whether there is such a process, even one of another user that can't be signalled. */
function trySignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
