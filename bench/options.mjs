import { parseArgs } from 'node:util';

/** All rows, in the order of their measurement. Each is a module of `bench/rows`. The last one is measured only if it is named. */
export const ROWS = /** @type {const} */ ([
  'uncontended',
  'handover',
  'election-handover',
  'herd',
  'guarded-failover',
  'host-failover',
  'warm-standby',
  'rolling',
  'blocked-leader',
  'false-takeovers',
  'memory',
  'idle',
  'lost-sessions',
  'many-elections',
  'many-holds',
  'shards',
  'start-up',
  'package',
  'long-run',
]);

export const HELP = `Compares Conclave with other clients, on ZooKeeper servers of its own.

  npm run bench                        everything but long-run: 125 to 135 minutes
  npm run bench -- --quick             a first impression
  npm run bench -- --only handover     only these rows, separated by commas: ${ROWS.join(', ')}

  --rounds N           how often the contestants take turns (5; with --quick 2); in long-run 12 minutes each
  --contestants A,B    only these contestants, such as 'Conclave lock,raw'; bench/harness/contestants.mjs has all names
  --crowds N,N         numbers of contenders in handover and election-handover (15,100,1000; with --quick 15,50),
                       and in herd (2,5,15,50,100; with --quick 5,25)
  --out FOLDER         where results.json, results.md and the plots go (bench/last-run)
  --docs               also publishes: writes bench/results, and the verdict of docs/benchmarks.md;
                       rows that weren't measured keep their figures

The benchmark installs missing packages of the other clients, as root on Debian. It leaves out clients that it can't install.`;

const KNOWN = /** @type {const} */ ({
  help: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  docs: { type: 'boolean', default: false },
  only: { type: 'string' },
  rounds: { type: 'string' },
  contestants: { type: 'string' },
  crowds: { type: 'string' },
  out: { type: 'string', default: 'bench/last-run' },
});

/**
 * The options of the command line.
 *
 * @typedef {object} Options
 * @property {boolean} help
 * @property {boolean} quick
 * @property {boolean} docs
 * @property {readonly string[]} rows
 * @property {number} rounds
 * @property {readonly string[] | undefined} contestants
 * @property {readonly number[] | undefined} crowds
 * @property {string} out
 */

/**
 * @param {string[]} args
 * @param {readonly string[]} names of all contestants
 * @returns {Options}
 * @throws {Error} if an option is unknown or its value is wrong; the message has the expected values
 */
export function parseOptions(args, names) {
  const values = read(args);
  const { help, quick, docs, out } = values;
  if (out === '') throw new Error('--out is empty: expected a folder');
  return {
    help,
    quick,
    docs,
    out,
    rows: some('only', values.only, ROWS) ?? ROWS.slice(0, -1),
    rounds: wholes('rounds', values.rounds, 1)?.[0] ?? (quick ? 2 : 5),
    contestants: some('contestants', values.contestants, names),
    crowds: wholes('crowds', values.crowds, 3),
  };
}

/** @param {string[]} args */
function read(args) {
  try {
    return parseArgs({ args, options: KNOWN }).values;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}\n'npm run bench -- --help' lists the options`, {
      cause: error,
    });
  }
}

/**
 * @param {string} option
 * @param {string | undefined} value
 * @param {readonly string[]} known
 */
function some(option, value, known) {
  const given = value?.split(',').map((word) => word.trim());
  const unknown = given?.find((word) => !known.includes(word));
  if (unknown !== undefined)
    throw new Error(
      `--${option} has '${unknown}': expected some of ${known.join(', ')}, separated by commas`,
    );
  return given;
}

/**
 * @param {'rounds' | 'crowds'} option
 * @param {string | undefined} value
 * @param {number} least
 */
function wholes(option, value, least) {
  const words = option === 'rounds' && value !== undefined ? [value] : value?.split(',');
  const wrong = words?.find((word) => !/^\s*\d{1,6}\s*$/.test(word) || Number(word) < least);
  if (wrong !== undefined) {
    const expected = `${option === 'rounds' ? 'a whole number' : 'whole numbers'}, ${least} or more`;
    throw new Error(`--${option} is '${value}': expected ${expected}`);
  }
  return words?.map(Number);
}
