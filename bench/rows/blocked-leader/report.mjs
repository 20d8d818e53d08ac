/** The table, bars and notes of blocked leaders. */
import { median, quantile, rounded } from '../../harness/quantiles.mjs';
import { LOOPS, PAUSE_MS } from './busy.mjs';
import { HANG, HEAP, LEASE_MS, MAX_STALL_MS, SESSION_MS, TICK_MS, WAYS } from './settings.mjs';

/** @import { Bar, Finding } from '../../harness/finding.mjs' */
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
const REPLACED_BARS = { killed: { p50: 650, longest: 750 }, stopped: { p50: 650 } };
const WORDS = { killed: 'kill -9', stopped: 'SIGSTOP' };
const LEAST_REMAINING_MS = 200;
const BUSY_MS = 700; // The blocks that the lease doesn't outlast.
const LED_PERCENT = 98;
/** What the thread may cost, beside the same without it, and at most. @type {readonly { of: keyof Measured['costs'], what: string, unit: string, digits: number, more?: number, bar?: number }[]} */
const COSTS = [
  { of: 'startMs', what: '`start()` until it leads', unit: 'ms', digits: 0, more: 80 },
  { of: 'rssMb', what: 'memory of the process then', unit: 'MB', digits: 0, more: 16 },
  {
    of: 'handoverUs',
    what: 'handover of an election at once, 15 candidates, p50',
    unit: 'µs',
    digits: 0,
    more: 1500,
  },
  { of: 'readUs', what: '`getData`, p50', unit: 'µs', digits: 0, more: 150 },
  { of: 'cycleUs', what: 'lock cycle, p50', unit: 'µs', digits: 0, more: 250 },
  { of: 'isHeldUs', what: '`isHeld()`', unit: 'µs', digits: 2, bar: 3.2 },
  { of: 'cpuPercent', what: 'processor time of an idle leader', unit: '%', digits: 2, bar: 2.5 },
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
      ...COSTS.map(({ of, what, unit, digits }) =>
        beside(`${what}, ${unit}`, measured.costs[of], (rounds) => rounded(median(rounds.flat()), digits)),
      ),
    ],
    bars: barsOf(measured),
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

/** @param {readonly Blocked[]} hangs @returns {Line[]} */
function linesOfHangs(hangs) {
  const { denied, replaced } = timesOfHangs(hangs);
  const range = (/** @type {number[]} */ times) =>
    [quantile(times, 0), quantile(times, 1)].map((ms) => rounded(ms, 0)).join('–');
  return [
    [`${nameOfHang()}: \`isHeld()\` first \`false\` after, ms`, NONE, range(denied)],
    [`${nameOfHang()}: another led after, ms`, NONE, range(replaced)],
  ];
}

function nameOfHang() {
  return `blocked ${HANG.blockMs / 1000} s, \`maxStallMs\` ${HANG.maxStallMs / 1000} s`;
}

/** A round without such an instant counts as one that took for ever. @param {readonly Blocked[]} hangs */
function timesOfHangs(hangs) {
  return {
    denied: hangs.map(({ deniedAfterMs }) => deniedAfterMs ?? Number.POSITIVE_INFINITY),
    replaced: hangs.map(({ replacedAfterMs }) => replacedAfterMs ?? Number.POSITIVE_INFINITY),
  };
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

/** @param {Measured} measured @returns {Bar[]} */
export function barsOf({ blocks, hangs, nexts, failovers, busy, collections, costs }) {
  const { denied, replaced } = timesOfHangs(hangs);
  const ofNexts = { unit: 'ms', bar: 1400 };
  return [
    ...blocks.filter(({ way }) => way === 'with').flatMap(barsOfBlock),
    ...inMs(`${nameOfHang()}: \`isHeld()\` first \`false\`, longest`, denied, 1, 2800),
    ...inMs(`${nameOfHang()}: another leads, longest`, replaced, 1, 3200),
    {
      what: 'next in line blocked, leader killed: the third leads, longest',
      measured: rounded(quantile(nexts.with, 1), 0),
      ...ofNexts,
    },
    ...failovers.filter(({ way }) => way === 'with').flatMap(barsOfFailovers),
    ...paired(busy, nameOfBusy).flatMap(barsOfBusy),
    ...collections
      .filter(({ way }) => way === 'with')
      .map(({ kept }) => ({ what: 'garbage collection: terms lost', measured: Number(!kept), bar: 0 })),
    ...COSTS.map(({ of, what, unit, digits, more, bar = Number.NaN }) => {
      const [without, withThread] = WAYS.map((way) => median(costs[of][way].flat()));
      if (more === undefined)
        return { what: `${what}, with the thread`, measured: rounded(Number(withThread), digits), bar, unit };
      return {
        what: `${what}: more with the thread`,
        measured: rounded(Number(withThread) - Number(without), digits),
        bar: more,
        unit,
      };
    }),
  ];
}

/** @param {string} what @param {number[]} times @param {number} share @param {number} bar @returns {Bar[]} */
function inMs(what, times, share, bar) {
  return [{ what, measured: rounded(quantile(times, share), 0), bar, unit: 'ms' }];
}

/** @param {Blocked} blocked @returns {Bar[]} */
function barsOfBlock(blocked) {
  const what = nameOfBlock(blocked);
  const least = {
    what: `${what}: least \`remainingMs()\``,
    bar: LEAST_REMAINING_MS,
    atLeast: true,
    unit: 'ms',
  };
  return [
    { what: `${what}: answers \`false\``, measured: blocked.main.denied + blocked.thread.denied, bar: 0 },
    ...(blocked.leaseMs === LEASE_MS ? [{ ...least, measured: rounded(leastMs(blocked), 0) }] : []),
    { what: `${what}: terms lost`, measured: Number(!blocked.kept), bar: 0 },
  ];
}

/** @param {Beside} beside @returns {Bar[]} */
function barsOfFailovers({ fault, rounds }) {
  const bars = Object.entries(REPLACED_BARS[fault]);
  return bars.flatMap(([name, bar]) =>
    inMs(`${WORDS[fault]} with the thread: ${name}`, rounds.flat(), name === 'p50' ? 0.5 : 1, bar),
  );
}

/** @param {ReturnType<typeof paired<Busy>>[number]} pair @returns {Bar[]} */
function barsOfBusy({ name, without, with: ours }) {
  if (ours === undefined || without === undefined) return [];
  const isLonger = ours.blockMs === BUSY_MS;
  return [
    { what: `${name}: terms lost`, measured: ours.lost, bar: isLonger ? 0 : without.lost },
    ...(isLonger
      ? [
          {
            what: `${name}: time led`,
            measured: rounded(100 * ours.ledShare, 1),
            bar: LED_PERCENT,
            atLeast: true,
            unit: '%',
          },
        ]
      : []),
  ];
}
