/** The table and notes of blocked leaders. */
import { median, quantile, rounded } from '../../harness/quantiles.mjs';
import { LOOPS, PAUSE_MS } from './busy.mjs';
import { HANG, HEAP, LEASE_MS, MAX_STALL_MS, SESSION_MS, TICK_MS, WAYS } from './settings.mjs';

/** @import { Finding } from '../../harness/finding.mjs' */
/** @import { Blocked } from './blocks.mjs' */
/** @import { Busy, Collected } from './busy.mjs' */
/** @import { Rounds } from './costs.mjs' */
/** @import { Beside } from './failovers.mjs' */
/** @import { Way } from './settings.mjs' */

/**
 * @typedef {object} Measured
 * @property {readonly Blocked[]} blocks
 * @property {readonly Blocked[]} hangs
 * @property {Record<Way, number[]>} nexts
 * @property {readonly Beside[]} failovers
 * @property {readonly Busy[]} busy
 * @property {readonly Collected[]} collections
 * @property {Record<'startMs' | 'rssMb' | 'cpuPercent' | 'isHeldUs' | 'readUs' | 'cycleUs' | 'handoverUs', Rounds>} costs
 */

/** @typedef {string | number} Figure */
/** One figure without the option and with it. @typedef {[what: string, without: Figure, beside: Figure]} Line */

export const COLUMNS = ['what', 'without', 'with `maxStallMs`'];
const NONE = '–';
const WORDS = { killed: 'kill -9', stopped: 'SIGSTOP' };
/** @type {readonly { of: keyof Measured['costs'], what: string, unit: string, digits: number }[]} */
const COSTS = [
  { of: 'startMs', what: '`start()` until it leads', unit: 'ms', digits: 0 },
  { of: 'rssMb', what: 'memory of the process then', unit: 'MB', digits: 0 },
  {
    of: 'handoverUs',
    what: 'handover of an election at once, 15 candidates, p50',
    unit: 'µs',
    digits: 0,
  },
  { of: 'readUs', what: '`getData`, p50', unit: 'µs', digits: 0 },
  { of: 'cycleUs', what: 'lock cycle, p50', unit: 'µs', digits: 0 },
  { of: 'isHeldUs', what: '`isHeld()`', unit: 'µs', digits: 2 },
  { of: 'cpuPercent', what: 'processor time of an idle leader', unit: '%', digits: 2 },
];

/** @param {Measured} measured @returns {Finding} */
export function report(measured) {
  return {
    id: 'blocked-leader',
    title: 'Leaders whose event loop is blocked, without `maxStallMs` and with it',
    columns: COLUMNS,
    table: [
      ...linesOfBlocks(measured.blocks),
      ...linesOfHangs(measured.hangs),
      beside('next in line blocked, leader killed: the third leads after, p50 ms', measured.nexts, (times) =>
        rounded(median(times), 0),
      ),
      ...linesOfFailovers(measured.failovers),
      ...linesOfBusy(measured.busy),
      ...linesOfCollections(measured.collections),
      lineOfLosses(measured),
      ...COSTS.map(({ of, what, unit, digits }) =>
        beside(`${what}, ${unit}`, measured.costs[of], (rounds) => rounded(median(rounds.flat()), digits)),
      ),
    ],
    notes: [...NOTES, ...notesOfFailovers(measured.failovers)],
    data: measured,
  };
}

const NOTES = [
  `One server with its data in memory and ticks of ${TICK_MS / 1000} s, sessions of ${SESSION_MS / 1000} s, leases of ${LEASE_MS} ms unless another is named, \`maxStallMs\` ${MAX_STALL_MS / 1000} s unless another is named. Without the option and with it take turns, but the blocks of 1, 5 and 20 s, where both are blocked at the same time.`,
  'A blocked leader computes, and asks `isHeld()` and `remainingMs()` every millisecond. A worker thread asks as often, by a handle. Another process waits to lead.',
  '`remainingMs()`: the least that was returned beside a `true`. Without the option it goes down to 0, because the lease ends.',
  'Times of a block count from its beginning.',
  `Kill -9 and SIGSTOP are measured as in \`host-failover\`.`,
  `Beside ${LOOPS} busy loops the process that leads is blocked, then its loop turns for ${PAUSE_MS} ms, and so on. Another process waits, and does the same when it leads.`,
  `The heap is collected at once, by \`gc()\`, with a lease of ${HEAP.leaseMs} ms.`,
  'Reads, lock cycles and handovers have sessions of 10 minutes, so that no heartbeat is sent meanwhile.',
];

/** What the failovers' times leave out. @param {readonly Beside[]} failovers */
function notesOfFailovers(failovers) {
  return failovers.flatMap(({ fault, way, alreadyLost, failures }) => {
    const which = `${WORDS[fault]}, ${way} \`maxStallMs\``;
    return [
      ...(alreadyLost > 0 ? [`${which}: ${alreadyLost} terms had ended before their leader failed.`] : []),
      ...failures.map((failure) => `${which}: a round is left out: ${failure.split('\n', 1)[0]}`),
    ];
  });
}

/**
 * @template T
 * @param {string} what
 * @param {Partial<Record<Way, T>>} values
 * @param {(value: T) => Figure} figure
 * @returns {Line}
 */
function beside(what, values, figure) {
  const [without, withThread] = WAYS.map((way) => {
    const value = values[way];
    return value === undefined ? NONE : figure(value);
  });
  return [what, without ?? NONE, withThread ?? NONE];
}

/**
 * Pairs values of the same setting.
 *
 * @template {{ way: Way }} T
 * @param {readonly T[]} all
 * @param {(value: T) => string} name
 */
function paired(all, name) {
  return [...new Set(all.map(name))].map((each) => {
    const of = (/** @type {Way} */ way) => all.find((value) => value.way === way && name(value) === each);
    return { name: each, without: of('without'), with: of('with') };
  });
}

/** @param {readonly Blocked[]} blocks @returns {Line[]} */
function linesOfBlocks(blocks) {
  return paired(blocks, nameOfBlock).flatMap(({ name, ...pair }) => [
    beside(`${name}: answers \`true\` in the blocked thread, in a worker, %`, pair, ({ main, thread }) =>
      [main, thread].map(({ asked, denied }) => rounded((100 * (asked - denied)) / asked, 1)).join(', '),
    ),
    beside(`${name}: least \`remainingMs()\``, pair, (each) => rounded(leastMs(each), 0)),
    beside(`${name}: the term was kept`, pair, ({ kept }) => (kept ? 'yes' : 'no')),
    beside(`${name}: another led after, ms`, pair, ({ replacedAfterMs }) =>
      replacedAfterMs === undefined ? 'never' : rounded(replacedAfterMs, 0),
    ),
  ]);
}

/** @param {Blocked} blocked */
function nameOfBlock({ blockMs, leaseMs }) {
  return `blocked ${blockMs / 1000} s, lease ${leaseMs / 1000} s`;
}

/** @param {Blocked} blocked */
function leastMs({ main, thread }) {
  return Math.min(main.leastMs, thread.leastMs);
}

/** The longest times. A round without such an instant took for ever. @param {readonly Blocked[]} hangs @returns {Line[]} */
function linesOfHangs(hangs) {
  const longest = (/** @type {'deniedAfterMs' | 'replacedAfterMs'} */ what) =>
    rounded(Math.max(...hangs.map((each) => each[what] ?? Number.POSITIVE_INFINITY)), 0);
  const name = `blocked ${HANG.blockMs / 1000} s, \`maxStallMs\` ${HANG.maxStallMs / 1000} s`;
  return [
    [`${name}: \`isHeld()\` first \`false\` after, longest ms`, NONE, longest('deniedAfterMs')],
    [`${name}: another led after, longest ms`, NONE, longest('replacedAfterMs')],
  ];
}

/** @param {readonly Beside[]} failovers @returns {Line[]} */
function linesOfFailovers(failovers) {
  return paired(failovers, ({ fault }) => WORDS[fault]).map(({ name, ...pair }) =>
    beside(`${name}: another led after, p50, longest ms`, pair, ({ rounds }) =>
      [0.5, 1].map((share) => rounded(quantile(rounds.flat(), share), 0)).join(', '),
    ),
  );
}

/** @param {Busy} busy */
function nameOfBusy({ blockMs, forMs }) {
  return `${LOOPS} busy loops, blocked ${blockMs} ms again and again for ${forMs / 1000} s`;
}

/** @param {readonly Busy[]} busy @returns {Line[]} */
function linesOfBusy(busy) {
  return paired(busy, nameOfBusy).map(({ name, ...pair }) =>
    beside(
      `${name}: terms lost, time led`,
      pair,
      ({ lost, ledShare }) => `${lost}, ${rounded(100 * ledShare, 0)} %`,
    ),
  );
}

/** @param {readonly Collected[]} collections @returns {Line[]} */
function linesOfCollections(collections) {
  return paired(
    collections,
    () => `garbage collection of ${HEAP.bytes / 2 ** 30} GB: ms, the term was kept`,
  ).map(({ name, ...pair }) =>
    beside(name, pair, ({ tookMs, kept }) => `${rounded(tookMs, 0)}, ${kept ? 'yes' : 'no'}`),
  );
}

/** A block in which `isHeld()` was `false` cost a term, too. @param {Measured} measured @returns {Line} */
function lineOfLosses({ blocks, busy, collections }) {
  const lost = [
    ...blocks.map(({ way, kept, main, thread }) => ({
      way,
      lost: Number(!kept || main.denied + thread.denied > 0),
    })),
    ...busy,
    ...collections.map(({ way, kept }) => ({ way, lost: Number(!kept) })),
  ];
  const [without, withThread] = WAYS.map((way) =>
    lost.reduce((sum, each) => sum + (each.way === way ? each.lost : 0), 0),
  );
  return [
    'terms lost in all blocks, collections, and beside busy loops',
    Number(without),
    Number(withThread),
  ];
}
