import { type ProcessEntry, readProcess, readProcesses } from './process-table.js';

/** All that belongs to a command, as far as it has to be ended. */
export interface Processes {
  /** Sends a signal to all of them. Does nothing if they are gone. */
  signal(name: NodeJS.Signals): void;
  /** Whether nothing of them runs any more. */
  isGone(): boolean;
}

/**
 * A session of processes, as Unix has them: a process that was made to lead one, and all that come from it but those that
 * have begun sessions of their own. Where the system tells (Linux), all its process groups count: shells with job control
 * make one for each job, and so does `timeout`. Elsewhere only that of the leader does.
 *
 * The session's number is its leader's process id. It isn't given to another process as long as anything is left of
 * the session, be it a zombie; after that it may be. So a process of that number that was started at another time than our
 * leader tells that our session is gone, and nothing is sent to the other.
 */
export class ProcessSession implements Processes {
  readonly id: number;
  readonly #startedAt: number | undefined;

  /** @param startedAt - when its leader was started, by the process table, where there is one */
  constructor(id: number, startedAt: number | undefined) {
    this.id = id;
    this.#startedAt = startedAt;
  }

  signal(name: NodeJS.Signals): void {
    if (this.#isReplaced()) return;
    trySignal(-this.id, name); // At once: the others have to be looked for.
    for (const group of new Set(this.#members().map((member) => member.group)))
      if (group !== this.id) trySignal(-group, name);
  }

  isGone(): boolean {
    if (this.#isReplaced()) return true;
    // Of one look nothing follows: a process may have been made behind it by another one that has ended ahead of it.
    return this.#seemsGone() && this.#seemsGone();
  }

  #seemsGone(): boolean {
    const members = this.#members();
    if (members.some(({ isDead }) => !isDead)) return false;
    // Zombies may stay for good, in a container whose first process doesn't see to them. But a group of which nothing can be
    // seen is taken to be alive: the system may hide what belongs to other users.
    return members.length > 0 || !trySignal(-this.id, 0);
  }

  #members(): ProcessEntry[] {
    return readProcesses().filter(({ session }) => session === this.id);
  }

  #isReplaced(): boolean {
    const leader = this.#startedAt === undefined ? undefined : readProcess(this.id);
    return leader !== undefined && leader.startedAt !== this.#startedAt;
  }
}

/** Whether there was somebody to send it to, be it that they belong to another user and didn't get it. */
function trySignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
