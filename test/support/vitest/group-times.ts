import { readdirSync, readFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

const TICKS_PER_SECOND = 100;

/** Prints the seconds and the processor seconds of each group of tests; the latter on Linux only. */
export default class GroupTimes implements Reporter {
  /** The groups that run at the same time are measured together. */
  #running: { readonly order: number; readonly names: Set<string>; readonly since: Times } | undefined;
  readonly #rows: string[] = [];

  onTestRunStart(): void {
    this.#rows.length = 0;
  }

  onTestModuleQueued({ project }: TestModule): void {
    const order = project.config.sequence.groupOrder;
    if (this.#running?.order !== order) {
      this.#end();
      this.#running = { order, names: new Set(), since: timesNow() };
    }
    this.#running?.names.add(project.name);
  }

  onTestRunEnd(): void {
    this.#end();
    console.log(`\n${['seconds  processor  group', ...this.#rows].join('\n')}\n`);
  }

  #end(): void {
    if (this.#running === undefined) return;
    const { names, since } = this.#running;
    const now = timesNow();
    const seconds = (now.seconds - since.seconds).toFixed(0).padStart(7);
    const processor = (now.processor - since.processor).toFixed(0).padStart(9);
    this.#rows.push(`${seconds}  ${processor}  ${[...names].join(', ')}`);
    this.#running = undefined;
  }
}

interface Times {
  readonly seconds: number;
  readonly processor: number;
}

function timesNow(): Times {
  return { seconds: performance.now() / 1000, processor: processorSeconds() };
}

/** Of this process, its descendants, and those of them that have ended and were waited for. */
function processorSeconds(): number {
  const parents = new Map<number, number>();
  const used = new Map<number, number>();
  for (const pid of process.platform === 'linux' ? readdirSync('/proc').map(Number) : []) {
    const stat = readStat(pid);
    if (stat === undefined) continue;
    // The fields behind the name, from the third one on: proc_pid_stat(5).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    parents.set(pid, Number(fields[1]));
    used.set(pid, fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND);
  }
  const isOurs = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === process.pid || isOurs(parents.get(pid)));
  return [...used].reduce((sum, [pid, seconds]) => sum + (isOurs(pid) ? seconds : 0), 0);
}

function readStat(pid: number): string | undefined {
  try {
    return Number.isInteger(pid) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : undefined;
  } catch {
    return undefined; // It has ended.
  }
}
