/** Tables and notes of measured handovers. */
import { percentiles, ratio } from './compare.mjs';
import { CONTESTANTS } from './contestants.mjs';
import { AWAY } from './links.mjs';
import { mean, median, rounded } from './quantiles.mjs';

/** @typedef {import('./handovers.mjs').Handovers} Handovers */

const COLUMNS = [
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
const SUMMARY = {
  lines: ['servers', 'contenders', 'one handover after the other'],
  across: 'who',
  value: 'p50 µs',
  only: CONTESTANTS.filter(({ lowerBound, keeps }) => lowerBound === undefined || keeps).map(
    ({ name }) => name,
  ),
};

/**
 * The finding of a row that measures handovers.
 *
 * @param {{ id: string, title: string, measured: Handovers[], notes: string[], beside: string[] }} row `beside`: the contestants with which
 *   lower bounds are compared
 * @returns {import('./finding.mjs').Finding}
 */
export function findingOf({ id, title, measured, notes, beside }) {
  return {
    ...{ id, title, columns: COLUMNS, table: rowsOf(measured), summary: SUMMARY },
    ...{ notes: [...notes, ...notesOf(measured, beside)], data: measured },
  };
}

/** @param {readonly Handovers[]} measured */
export function rowsOf(measured) {
  return measured.flatMap(({ setting: { servers, crowd, pace, isAway, sessions }, series }) =>
    series.map(({ name, rounds, requests, notifications }) => {
      const { p50, p99 } = percentiles(rounds);
      return [
        isAway ? `${servers}, ${AWAY}` : servers,
        sessions === undefined ? crowd : `${crowd}, beside ${sessions - crowd} sessions`,
        pace,
        name,
        rounded(p50, 0),
        rounded(p99, 0),
        requests.length === 0 ? '–' : rounded(median(requests), 1),
        rounded(mean([...notifications]), 2),
      ];
    }),
  );
}

const LOWER_BOUNDS = CONTESTANTS.flatMap(({ lowerBound, name }) => (lowerBound === undefined ? [] : [name]));

/**
 * Compares the lower bounds with others, and says how far away servers are, which rounds are missing, and why.
 *
 * @param {readonly Handovers[]} measured
 * @param {readonly string[]} others
 * @returns {string[]}
 */
export function notesOf(measured, others) {
  return measured.flatMap(({ setting: { servers, crowd, pace, isAway }, series, failures, notes }) => {
    const where = `${servers === 1 ? 'one server' : 'three servers'}, ${isAway ? `${AWAY}, ` : ''}${crowd} contenders, ${pace}`;
    const beside = series.filter(({ name }) => others.includes(name));
    const lowerBounds = series.filter(({ name }) => LOWER_BOUNDS.includes(name));
    const bounds = lowerBounds.flatMap((lowerBound) => {
      const times = beside.map(
        ({ name, rounds }) => `${rounded(ratio(lowerBound.rounds, rounds), 2)} times ${name}`,
      );
      return times.length === 0 ? [] : [`${where}: ${lowerBound.name} take ${times.join(', ')}.`];
    });
    const missing = failures.map(
      ({ name, round, reason }) =>
        `${name} broke down in round ${round} at ${crowd}, ${pace}, which is left out: ${reason.split('\n', 1)[0]}`,
    );
    return [...notes, ...bounds, ...missing];
  });
}
