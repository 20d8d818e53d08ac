/** The command behind `npm run simulate`: see {@link HELP}. */
import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { hashOfCompiled } from './core-hash.js';
import { entered, type FinishedWorld, HoursFile, nextSeed, progress, reserved } from './hours.js';
import { RULES, type Rules } from './rules.js';
import { type Report, type Run, simulate } from './run.js';
import { Tally } from './tally.js';
import { FAULT_RATES } from './world.js';

const WORLDS = [...FAULT_RATES, 'shards'] as const;

const HELP = `npm run simulate -- [options]

  --seed N       replay the world of this seed, and say what was seen
  --hours H      simulate H hours, in worlds of one or two each (default 10)
  --from N       the first seed; each world has the next one (default: the ledger's next)
  --rules R      ${RULES.join(', ')} (default shipped)
  --faults F     ${FAULT_RATES.join(', ')} (default few); or shards: a world with a group of shards
  --workers N    how many processes (default: one for each processor)

Seeds that violate the shipped rules are written to FAILING_SEEDS, if that is set. The hours by the shipped rules are entered into the ledger
HOURS, if that is set, while the run lasts: by what was simulated, and each seed once. The hours of worlds with a violation aren't.`;

/** Nearly all garbage of a world is recent: with a larger young generation less is copied. */
const WORKER_OPTIONS = ['--max-semi-space-size=64'];

/**
 * Node keeps signals that are listened to until they abort (`AbortSignal.any`), and those of a process that was killed never do: after
 * thousands of worlds a worker had 5 GB, and took three times as long.
 */
const WORLDS_OF_A_WORKER = 300;

const HOUR_MS = 3_600_000;
const TOLD_EVERY_MS = 30_000;

/** The messages to a worker and from it. */
type Answer = Omit<Report, 'counts' | 'longest'> & {
  readonly counts: [string, number][];
  readonly longest: [string, number][];
};

const { values } = parseArgs({
  args: process.argv.slice(2).filter((each) => each !== '--worker'),
  options: {
    seed: { type: 'string' },
    hours: { type: 'string' },
    from: { type: 'string' },
    rules: { type: 'string', default: 'shipped' },
    faults: { type: 'string', default: 'few' },
    workers: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  if ((allowed as readonly string[]).includes(value)) return value as T;
  throw new Error(`--${option} is ${value}: expected ${allowed.join(', ')}`);
}

function wholeNumber(option: string, value: string | undefined, otherwise: number): number {
  const number = value === undefined ? otherwise : Number(value);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new Error(`--${option} is ${value}: expected a whole number`);
}

async function replay(run: Run): Promise<void> {
  const tally = new Tally();
  const report = await simulate(run);
  tally.add(report);
  console.log(`seed ${run.seed}, trace ${report.trace.toString(16)}`);
  console.log(tally.describe());
  for (const { kind, atMs, what } of report.violations) console.log(`${atMs} ms: ${kind}: ${what}`);
  process.exitCode = report.violations.length > 0 ? 1 : 0;
}

/** The entries of a run in the ledger. */
class Entries {
  readonly #file: HoursFile;
  readonly #core = hashOfCompiled(join(dirname(import.meta.filename), 'run.js'));
  readonly #faults: Run['faultRate'];
  #worlds: FinishedWorld[] = [];

  constructor(path: string, faults: Run['faultRate']) {
    this.#file = new HoursFile(path);
    this.#faults = faults;
  }

  /** @param given - the first seed, if the run has to begin there. @returns the first seed of so many that no other run takes */
  async reserve(given: number | undefined, count: number): Promise<number> {
    let first = given ?? 0;
    await this.#file.change((all) => {
      first = given ?? nextSeed(all, this.#faults);
      return reserved(all, this.#subject, first + count);
    });
    return first;
  }

  note({ run: { seed }, simulatedMs, violations }: Pick<Report, 'run' | 'simulatedMs' | 'violations'>): void {
    this.#worlds.push({ seed, hours: simulatedMs / HOUR_MS, isClean: violations.length === 0 });
  }

  /** Writes what was noted since the last call. */
  async enter(): Promise<void> {
    const worlds = this.#worlds;
    this.#worlds = [];
    if (worlds.length === 0) return;
    await this.#file.change((all) => entered(all, this.#subject, worlds, process.env.COMMIT ?? ''));
  }

  describe(): string {
    return [`core ${this.#core}`, ...progress(this.#file.read(), this.#core)].join('\n');
  }

  get #subject() {
    return { core: this.#core, faults: this.#faults };
  }
}

/** Hands out one world after the other, and adds up the results. */
async function runMany(
  from: number | undefined,
  hours: number,
  rules: Rules,
  faultRate: Run['faultRate'],
  workers: number,
) {
  const tally = new Tally();
  const failing: Run[] = [];
  const { HOURS: ledger } = process.env;
  const entries = ledger === undefined || rules !== 'shipped' ? undefined : new Entries(ledger, faultRate);
  // Each world has an hour at least.
  const first = await entries?.reserve(from, Math.ceil(hours) + workers);
  let next = first ?? from ?? Math.floor(Date.now() / 1000);
  console.log(`from seed ${next}`);
  let toldAt = Date.now();
  const take = ({ counts, longest, ...rest }: Answer) => {
    tally.add({ ...rest, counts: new Map(counts), longest: new Map(longest) });
    entries?.note(rest);
    if (rest.violations.length > 0) failing.push(rest.run);
    if (rest.violations.length > 0 && rules === 'shipped')
      console.log(`seed ${rest.run.seed} --faults ${faultRate}: ${rest.violations[0]?.kind}`);
    if (Date.now() - toldAt < TOLD_EVERY_MS) return;
    toldAt = Date.now();
    console.log(tally.summary());
    void entries?.enter();
  };
  /** Resolves when the worker has done its share. */
  const employ = () =>
    new Promise<void>((resolve, reject) => {
      const child = fork(import.meta.filename, ['--worker'], { execArgv: WORKER_OPTIONS });
      let left = WORLDS_OF_A_WORKER;
      const give = () => {
        if (tally.hours >= hours || left-- === 0) return child.disconnect();
        const run: Run = { seed: next++, hours: 1, rules, faultRate };
        child.send(run);
      };
      child.on('message', (answer: Answer) => {
        take(answer);
        give();
      });
      child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))));
      give();
    });
  const work = async () => {
    while (tally.hours < hours) await employ();
  };
  await Promise.all(Array.from({ length: workers }, work));
  await entries?.enter();
  console.log(tally.describe());
  for (const run of failing) console.log(`seed ${run.seed} --rules ${rules} --faults ${faultRate}`);
  if (rules === 'shipped') keep(failing);
  if (entries !== undefined) console.log(entries.describe());
  process.exitCode = rules === 'shipped' && failing.length > 0 ? 1 : 0;
}

/** Adds the seeds to the file of those that the tests replay. */
function keep(failing: readonly Run[]): void {
  const file = process.env.FAILING_SEEDS;
  if (file === undefined || failing.length === 0) return;
  const known = JSON.parse(readFileSync(file, 'utf8')) as Run[];
  const isNew = (run: Run) =>
    !known.some((each) => each.seed === run.seed && each.faultRate === run.faultRate);
  writeFileSync(file, `${JSON.stringify([...known, ...failing.filter(isNew)], null, 2)}\n`);
}

function serveAsWorker(): void {
  process.on('disconnect', () => process.exit()); // The parent is gone.
  process.on('message', (run: Run) => {
    void simulate(run).then(({ counts, longest, ...rest }) => {
      const answer: Answer = { ...rest, counts: [...counts], longest: [...longest] };
      process.send?.(answer);
    });
  });
}

async function main(): Promise<void> {
  if (values.help) return console.log(HELP);
  const rules = oneOf('rules', values.rules, RULES);
  const faultRate = oneOf('faults', values.faults, WORLDS);
  if (values.seed !== undefined)
    return await replay({ seed: wholeNumber('seed', values.seed, 0), hours: 1, rules, faultRate });
  const from = values.from === undefined ? undefined : wholeNumber('from', values.from, 0);
  const workers = wholeNumber('workers', values.workers, availableParallelism());
  await runMany(from, wholeNumber('hours', values.hours, 10), rules, faultRate, workers);
}

if (process.argv[2] === '--worker') serveAsWorker();
else await main();
