/** Tables and bars for measured handovers. */
import { percentiles, ratio } from './compare.mjs';
import { CONTESTANTS } from './contestants.mjs';
import { median, rounded } from './quantiles.mjs';

/** @typedef {import('./handovers.mjs').Handovers} Handovers */
/** @typedef {import('./handovers.mjs').Setting} Setting */

export const COLUMNS = [
  'servers',
  'contenders',
  'one handover after the other',
  'who',
  'p50 µs',
  'p99 µs',
  'requests',
  'notifications',
];

/** Of the lower bounds it shows only those that send all requests that Conclave's guarantees need. @type {import('./finding.mjs').Summary} */
export const SUMMARY = {
  lines: ['servers', 'contenders', 'one handover after the other'],
  across: 'who',
  value: 'p50 µs',
  only: CONTESTANTS.filter(({ lowerBound, keeps }) => lowerBound === undefined || keeps).map(
    ({ name }) => name,
  ),
};

/** @param {readonly Handovers[]} measured */
export function rowsOf(measured) {
  return measured.flatMap(({ setting: { servers, crowd, pace, sessions }, series }) =>
    series.map(({ name, rounds, requests, notifications }) => {
      const { p50, p99 } = percentiles(rounds);
      return [
        servers,
        sessions === undefined ? crowd : `${crowd}, beside ${sessions - crowd} sessions`,
        pace,
        name,
        rounded(p50, 0),
        rounded(p99, 0),
        requests.length === 0 ? '–' : rounded(median(requests), 1),
        rounded(mean(notifications), 2),
      ];
    }),
  );
}

/**
 * Bars for locks and elections: the number of contenders must make no difference.
 *
 * @param {readonly Handovers[]} measured
 * @param {string} name of Conclave's contestant
 * @param {number} notificationsAtMost
 * @returns {import('./finding.mjs').Bar[]}
 */
export function barsOfCrowds(measured, name, notificationsAtMost) {
  const ours = measured.flatMap(({ setting, series }) =>
    series.filter((each) => each.name === name).map((each) => ({ ...setting, ...each })),
  );
  const requests = ours
    .filter((each) => each.requests.length > 0 && each.servers === 1)
    .map((each) => median(each.requests));
  const paces = /** @type {const} */ (['at once', 'after a while']);
  const growth = paces.flatMap((pace) => {
    const among = ours.filter((each) => each.servers === 1 && each.pace === pace);
    const many = among.find(({ crowd }) => crowd === 1000);
    const fews = among.filter(({ crowd }) => crowd === 15);
    // Preferably the measurement on the same servers.
    const few = fews.find(({ sessions }) => sessions === 1000) ?? fews[0];
    if (few === undefined || many === undefined) return [];
    const measuredRatio = percentiles(many.rounds).p50 / percentiles(few.rounds).p50;
    return [
      { what: `p50 at 1000, times that at 15, ${pace}`, measured: rounded(measuredRatio, 2), bar: 1.2 },
    ];
  });
  return [
    ...growth,
    {
      what: 'notifications a handover, at any number of contenders',
      measured: rounded(Math.max(...ours.map(({ notifications }) => mean(notifications))), 2),
      bar: notificationsAtMost,
    },
    {
      what: 'requests a handover, how far apart at different numbers of contenders',
      measured: rounded(Math.max(...requests) - Math.min(...requests), 1),
      bar: 0.1,
    },
    {
      what: `rounds of ${name} that broke down`,
      measured: measured.flatMap(({ failures }) => failures).filter((failure) => failure.name === name)
        .length,
      bar: 0,
    },
  ];
}

/** Says which rounds are missing from a contestant's figures, and why. @param {readonly Handovers[]} measured @returns {string[]} */
export function notesOfFailures(measured) {
  return measured.flatMap(({ setting: { crowd, pace }, failures }) =>
    failures.map(
      ({ name, round, reason }) =>
        `${name} broke down in round ${round} at ${crowd}, ${pace}, which is left out: ${reason.split('\n', 1)[0]}`,
    ),
  );
}

const LOWER_BOUNDS = CONTESTANTS.flatMap(({ lowerBound, name }) => (lowerBound === undefined ? [] : [name]));

/**
 * Compares the lower bounds with Conclave and with its rival.
 *
 * @param {readonly Handovers[]} measured
 * @param {{ ours: string, rival: string }} comparison
 * @returns {string[]}
 */
export function notesOfLowerBounds(measured, { ours, rival }) {
  return measured.flatMap(({ setting: { servers, crowd, pace }, series }) => {
    const where = `${servers === 1 ? 'one server' : 'three servers'}, ${crowd} contenders, ${pace}`;
    const beside = series.filter(({ name }) => name === rival || name === ours);
    const lowerBounds = series.filter(({ name }) => LOWER_BOUNDS.includes(name));
    return lowerBounds.flatMap((lowerBound) => {
      const times = beside.map(
        ({ name, rounds }) => `${rounded(ratio(lowerBound.rounds, rounds), 2)} times ${name}`,
      );
      return times.length === 0 ? [] : [`${where}: ${lowerBound.name} take ${times.join(', ')}.`];
    });
  });
}

/**
 * Bars for the ratio to a rival, in the settings that have a bar.
 *
 * @param {Handovers} measured
 * @param {{ ours: string, rival: string, p50: (setting: Setting) => number | undefined, p99?: number }} comparison the highest
 *   ratios to the rival
 * @returns {import('./finding.mjs').Bar[]}
 */
export function barsBeside({ setting, series }, { ours, rival, p50, p99 }) {
  const our = series.find(({ name }) => name === ours);
  const their = series.find(({ name }) => name === rival);
  const bar = p50(setting);
  if (our === undefined || their === undefined || bar === undefined) return [];
  const { servers, crowd, pace } = setting;
  const what = `${servers === 1 ? '' : `${servers} servers, `}at ${crowd}, times ${rival}, ${pace}`;
  const bars = [{ what: `p50 ${what}`, measured: rounded(ratio(our.rounds, their.rounds), 3), bar }];
  if (p99 === undefined) return bars;
  const measured = rounded(percentiles(our.rounds).p99 / percentiles(their.rounds).p99, 2);
  return [...bars, { what: `p99 ${what}`, measured, bar: p99 }];
}

/** @param {readonly number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
