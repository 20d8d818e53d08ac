import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from './run.js';

export type Faults = Run['faultRate'];

/** What was simulated of one core with one kind of faults. */
export interface Hours {
  /** A hash of what was simulated, see `coreHash`. */
  readonly core: string;
  readonly faults: Faults;
  /** Simulated without a violation. */
  readonly hours: number;
  /** The seeds of these worlds: `1-40 43`. */
  readonly seeds: string;
  /** The seeds whose worlds had a violation. Their hours don't count. */
  readonly violations: string;
  /** The seed with which the next run begins. */
  readonly next: number;
  /** At which commits it was simulated. */
  readonly commits: string;
}

/** A world that has been simulated to its end. */
export interface FinishedWorld {
  readonly seed: number;
  readonly hours: number;
  readonly isClean: boolean;
}

/** What the hours are of. */
export type Subject = Pick<Hours, 'core' | 'faults'>;

/** Above all seeds that were simulated before there was a ledger. */
const FIRST_SEED = 200_000_000;

/** How many hours of each kind make a core trustworthy. */
export const WANTED_HOURS = 10_000;
export const KINDS: readonly Faults[] = ['few', 'many', 'takeover', 'stalls', 'shards'];

type Range = readonly [first: number, last: number];

function rangesOf(seeds: string): Range[] {
  return seeds.split(' ').flatMap((each) => {
    if (each === '') return [];
    const [first, last = first] = each.split('-').map(Number) as [number, number?];
    return [[first, last] as const];
  });
}

function merged(ranges: readonly Range[]): string {
  const inOrder = [...ranges].sort(([one], [other]) => one - other);
  const found: [number, number][] = [];
  for (const [first, last] of inOrder) {
    const before = found.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else found.push([first, last]);
  }
  return found.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(' ');
}

function isAmong(seed: number, seeds: string): boolean {
  return rangesOf(seeds).some(([first, last]) => first <= seed && seed <= last);
}

function isOf({ core, faults }: Subject): (hours: Hours) => boolean {
  return (hours) => hours.core === core && hours.faults === faults;
}

/** Replaces the hours of a subject. */
function changed(all: readonly Hours[], subject: Subject, change: (before: Hours) => Hours): Hours[] {
  const { core, faults } = subject;
  const none = {
    core,
    faults,
    hours: 0,
    seeds: '',
    violations: '',
    next: nextSeed(all, faults),
    commits: '',
  };
  const before = all.find(isOf(subject));
  const after = change(before ?? none);
  return before === undefined ? [...all, after] : all.map((each) => (each === before ? after : each));
}

/** The seed with which a run of that kind begins: above those of all cores, so that no world is seen twice. */
export function nextSeed(all: readonly Hours[], faults: Faults): number {
  return Math.max(FIRST_SEED, ...all.filter((each) => each.faults === faults).map(({ next }) => next));
}

/** Notes that a run begins, which simulates seeds from `first` up to `next`: another run begins there. */
export function reserved(all: readonly Hours[], subject: Subject, next: number): Hours[] {
  return changed(all, subject, (before) => ({ ...before, next: Math.max(before.next, next) }));
}

/** Notes the worlds of a run. A seed counts once, and the hours of a world with a violation never count. */
export function entered(
  all: readonly Hours[],
  subject: Subject,
  worlds: readonly FinishedWorld[],
  commit: string,
): Hours[] {
  return changed(all, subject, (before) => {
    const known = new Set<number>();
    const isNew = ({ seed }: FinishedWorld) => {
      if (known.has(seed) || isAmong(seed, before.seeds) || isAmong(seed, before.violations)) return false;
      known.add(seed);
      return true;
    };
    const fresh = worlds.filter(isNew);
    const clean = fresh.filter(({ isClean }) => isClean);
    const violating = fresh.filter(({ isClean }) => !isClean);
    const commits = before.commits.split(' ').filter((each) => each !== '' && each !== commit);
    const hours = clean.reduce((sum, each) => sum + each.hours, before.hours);
    const withSeeds = (seeds: string, more: readonly FinishedWorld[]) =>
      merged([...rangesOf(seeds), ...more.map(({ seed }) => [seed, seed] as const)]);
    return {
      ...before,
      hours: Math.round(hours * 1e4) / 1e4,
      seeds: withSeeds(before.seeds, clean),
      violations: withSeeds(before.violations, violating),
      next: Math.max(before.next, ...worlds.map(({ seed }) => seed + 1)),
      commits: [...commits, commit].join(' '),
    };
  });
}

/** How much of each kind there is of that core, a line each. */
export function progress(all: readonly Hours[], core: string): string[] {
  return KINDS.map((faults) => {
    const { hours, violations } = all.find(isOf({ core, faults })) ?? { hours: 0, violations: '' };
    const missing = Math.max(0, WANTED_HOURS - hours);
    const failed = violations === '' ? '' : `; violations with the seeds ${violations}`;
    return `  ${faults}: ${hours.toFixed(1)} of ${WANTED_HOURS} h, ${missing.toFixed(1)} h are missing${failed}`;
  });
}

const LOCKED_FOR_MS = 10_000;
const RETRY_MS = 20;

/** The ledger: a file that several runs write at the same time. */
export class HoursFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  read(): Hours[] {
    return JSON.parse(readFileSync(this.#path, 'utf8')) as Hours[];
  }

  /** Changes the file while no other run does. @returns the new content */
  async change(change: (all: readonly Hours[]) => Hours[]): Promise<Hours[]> {
    const lock = `${this.#path}.lock`;
    while (!take(lock)) await sleep(RETRY_MS);
    try {
      const all = change(this.read());
      writeFileSync(`${lock}.new`, `${JSON.stringify(all, null, 2)}\n`);
      renameSync(`${lock}.new`, this.#path);
      return all;
    } finally {
      rmSync(lock, { force: true });
    }
  }
}

/** Whether this process has the lock now. One that was killed in between keeps it for some seconds. */
function take(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx'));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  if (Date.now() - since > LOCKED_FOR_MS) rmSync(lock, { force: true });
  return false;
}
