import { readProcess, readProcesses } from './process-table.js';

/** A process group, as far as it has to be ended. */
export interface Group {
  /** Sends a signal to all of it. Does nothing if it is gone. */
  signal(name: NodeJS.Signals): void;
  /** Whether nothing of it runs any more. */
  isGone(): boolean;
}

/**
 * A process group that was made for one process, its leader, whose process id is the group's number.
 *
 * Its number isn't given to another process as long as anything is left of it, be it a zombie. After that it may be.
 * So a leader that was started at another time than ours tells that our group is gone, and nothing is sent to the other.
 */
export class ProcessGroup implements Group {
  readonly id: number;
  readonly #startedAt: number | undefined;

  /** @param startedAt - when its leader was started, by the process table, where there is one */
  constructor(id: number, startedAt: number | undefined) {
    this.id = id;
    this.#startedAt = startedAt;
  }

  signal(name: NodeJS.Signals): void {
    if (!this.#isReplaced()) trySignal(-this.id, name);
  }

  isGone(): boolean {
    if (!trySignal(-this.id, 0) || this.#isReplaced()) return true;
    // It exists: perhaps as zombies only, which stay for good in a container whose first process doesn't see to them.
    // Members that can't be seen are taken to be alive: the system may hide what belongs to other users.
    const members = readProcesses().filter(({ group }) => group === this.id);
    return members.length > 0 && members.every(({ isDead }) => isDead);
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
