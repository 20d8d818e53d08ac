/** The command line: `npm run chaos -- --help`. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkHistory } from './checker/check.js';
import { readHistory } from './history.js';
import { report } from './report.js';
import { runChaos, stormsOf } from './run.js';
import { describeStorm, type Links } from './schedule.js';
import { WORKERS } from './settings.js';

const HELP = `Faults on three real servers and ${WORKERS} workers, drawn from a seed, and a check of what came of them.

  npm run chaos -- --minutes 60                 with a seed that is printed
  npm run chaos -- --minutes 3 --seed 8         the same faults again: what comes of them depends on the machine
  npm run chaos -- --minutes 3 --seed 8 --print the faults alone
  npm run chaos -- --brief                      a single storm that has every kind of fault
  npm run chaos -- --network --minutes 10       each server and worker in a network of its own; most faults are of these
  npm run chaos -- --check history.jsonl        checks a history again, from the file alone

  --from STORM            without the storms before that one
  --keep FOLDER           keep the history there; without it, it is kept only if something was wrong
  --without-takeover-delay  the workers don't wait out a former leader's lease: there may be two leaders at once
  --leases-from-replies   the workers count leases from replies: there may be two leaders at once
  --careless-threads      threads act until the main thread tells them that the term is over: there may be two leaders at once

Ends with 1 if anything was violated. As root it has networks and small disks of its own; what the machine doesn't
allow is printed.`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    brief: { type: 'boolean', default: false },
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    keep: { type: 'string' },
    check: { type: 'string' },
    'without-takeover-delay': { type: 'boolean', default: false },
    'careless-threads': { type: 'boolean', default: false },
    'leases-from-replies': { type: 'boolean', default: false },
    network: { type: 'boolean', default: false },
    print: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function number(
  option: string,
  value: string,
  isRight: (number: number) => boolean,
  expected: string,
): number {
  const number = Number(value);
  if (value.trim() !== '' && isRight(number)) return number;
  throw new Error(`--${option} is ${value}: expected ${expected}`);
}

const links: Links = values.network ? 'wired' : 'proxied';
const isWhole = (value: number) => Number.isSafeInteger(value) && value >= 0;

/** Prints the results of a history. Returns whether there are no violations. */
function judge(path: string): boolean {
  const verdict = checkHistory(readHistory(path));
  console.log(report(verdict));
  return verdict.violations.length === 0;
}

async function run(seed: number, minutes: number | undefined): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-chaos-'));
  const historyPath = join(folder, 'history.jsonl');
  console.log(`seed ${seed}, history: ${historyPath}`);
  let isRight = false;
  try {
    const areThreadsCareless = values['careless-threads'];
    const areLeasesFromReplies = values['leases-from-replies'];
    const hasTakeoverDelay = !values['without-takeover-delay'];
    const firstStorm = number('from', values.from, isWhole, 'the number of a storm');
    const say = (line: string) => console.log(line);
    await runChaos({
      ...{ seed, minutes, firstStorm, links, folder, historyPath, say },
      ...{ hasTakeoverDelay, areThreadsCareless, areLeasesFromReplies },
    });
    isRight = judge(historyPath);
  } finally {
    keep(historyPath, seed, isRight);
    rmSync(folder, { recursive: true, force: true });
  }
  return isRight;
}

function keep(historyPath: string, seed: number, isRight: boolean): void {
  if (!existsSync(historyPath) || (isRight && values.keep === undefined)) return;
  const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'conclave-chaos-history-'));
  mkdirSync(folder, { recursive: true });
  const kept = join(folder, `history-${seed}.jsonl`);
  copyFileSync(historyPath, kept);
  console.log(`history kept: ${kept}`);
}

function print(seed: number, minutes: number | undefined): void {
  let left = minutes ?? 1;
  for (const storm of stormsOf({ seed, minutes, links })) {
    console.log(describeStorm(storm));
    if (--left <= 0) return;
  }
}

async function main(): Promise<boolean> {
  if (values.help) console.log(HELP);
  if (values.help) return true;
  if (values.check !== undefined) return judge(values.check);
  const minutes = values.brief
    ? undefined
    : number('minutes', values.minutes, (value) => value > 0, 'a number above 0');
  const seed = number(
    'seed',
    values.seed ?? String(Math.floor(Date.now() / 1000)),
    isWhole,
    'a whole number',
  );
  if (values.print) {
    print(seed, minutes);
    return true;
  }
  return await run(seed, minutes);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

// What still runs has no owner any more: servers and workers end with this process.
main().then(
  (isRight) => process.exit(isRight ? 0 : 1),
  (error: Error) => {
    console.error(error.message);
    process.exit(1);
  },
);
