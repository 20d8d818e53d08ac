/** The table and notes of failovers. */
import { median, quantile, rounded } from '../../harness/quantiles.mjs';
import {
  FAULTS,
  ofConclave,
  PEERS,
  RIVAL,
  SESSION_MS,
  SHORT_LEASES_MS,
  SHORT_SESSION_MS,
  TICK_MS,
} from './settings.mjs';

/** @import { Setting } from './settings.mjs' */

/**
 * @typedef {object} Failovers the measurements of a setting
 * @property {Setting} setting
 * @property {number[][]} rounds times in milliseconds
 * @property {number} alreadyLost terms that had ended before their leader failed
 * @property {string[]} failures why rounds are left out
 */

/** A setting that wasn't measured yet. @param {Setting} setting @returns {Failovers} */
export function unmeasured(setting) {
  return { setting, rounds: [], alreadyLost: 0, failures: [] };
}

export const COLUMNS = [
  'what befalls the leader',
  'session timeout s',
  'who',
  'failovers',
  'p50 ms',
  'p99 ms',
  'longest ms',
  `p50, times ${RIVAL}`,
];

/** Elections only, with Conclave's defaults and short leases. */
export const SUMMARY = {
  lines: COLUMNS.slice(0, 2),
  across: 'who',
  value: 'p50 ms',
  only: [
    ofConclave('killed', SESSION_MS).who,
    ...SHORT_LEASES_MS.map((leaseMs) => ofConclave('killed', SESSION_MS, { leaseMs }).who),
    ...PEERS,
  ],
};

/** With fewer values the longest one counts as the 99th percentile. */
const ENOUGH_FOR_P99 = 100;

/** @param {readonly Failovers[]} measured */
export function rowsOf(measured) {
  return measured
    .filter(({ rounds }) => rounds.flat().length > 0)
    .map((failovers) => {
      const { fault, sessionMs, who } = failovers.setting;
      const times = failovers.rounds.flat();
      const ratio = timesRival(failovers, measured);
      return [
        FAULTS[fault].words,
        sessionMs / 1000,
        who,
        times.length,
        ...[median(times), p99(times), quantile(times, 1)].map((ms) => rounded(ms, 0)),
        Number.isNaN(ratio) ? '–' : rounded(ratio, 2),
      ];
    });
}

/** @param {readonly Failovers[]} measured @param {number} elections */
export function notesOf(measured, elections) {
  return [
    'From the failure until a program that waits says that it leads or holds, by one clock; no guardian.',
    `One server with its data in memory and ticks of ${TICK_MS / 1000} s, as servers have if they aren't told otherwise: it grants sessions of ${SHORT_SESSION_MS / 1000} s or more, and ends them at ticks. (Other rows have ticks of 0.5 s.)`,
    `Each pair of processes has ${elections} elections, in each of which both have a session of their own, and all of which fail in one instant. What ends with the session ends at the same tick or two for all ${elections}, so there it is the rounds that count, whose failures are spread over the tick. A lease runs out for each election by itself, with its own heartbeats; these are spread.`,
    "A ratio is that of the medians of all rounds, since a contestant's failures come at another part of the tick in the same round.",
    `With fewer than ${ENOUGH_FOR_P99} failovers the p99 is the longest.`,
    'A link fails in a proxy: nothing more comes through, and neither side is told. Where only the replies are lost, new connections stay silent too, as none is established then.',
    'Over a link that loses only the replies, a leader of Conclave still releases its term when its lease is over and its work has settled; there is none, unless it is said that it goes on.',
    'A lease of Conclave is a third of the session timeout unless it is named.',
    'etcd: its own server, also with its data in memory, the election that it offers, leases as long as the sessions.',
    ...notesOfLostTerms(measured),
    ...notesOfFailures(measured),
  ];
}

/** @param {readonly Failovers[]} measured */
function notesOfLostTerms(measured) {
  const lost = measured
    .filter(({ alreadyLost }) => alreadyLost > 0)
    .map(({ setting, alreadyLost }) => `${nameOf(setting)} (${alreadyLost})`);
  if (lost.length === 0) return [];
  return [
    `Terms that had ended before their leader failed, and are left out (how many): ${lost.join('; ')}.`,
  ];
}

/** A note for each reason, with all settings in which it occurred. @param {readonly Failovers[]} measured */
function notesOfFailures(measured) {
  /** @type {Map<string, string[]>} */
  const settings = new Map();
  for (const { setting, failures } of measured) {
    const reasons = failures.map((failure) => failure.split('\n', 1)[0] ?? '');
    for (const reason of new Set(reasons)) {
      const rounds = reasons.filter((each) => each === reason).length;
      settings.set(reason, [...(settings.get(reason) ?? []), `${nameOf(setting)} (${rounds})`]);
    }
  }
  return [...settings].map(
    ([reason, names]) => `Rounds that broke down and are left out (how many): ${names.join('; ')}: ${reason}`,
  );
}

/** @param {Setting} setting */
function nameOf({ fault, sessionMs, who }) {
  return `${who}, ${FAULTS[fault].words}, session ${sessionMs / 1000} s`;
}

/** @param {readonly Failovers[]} measured @param {Setting} wanted */
function found(measured, { fault, sessionMs, who }) {
  return measured.find(
    ({ setting }) => setting.fault === fault && setting.sessionMs === sessionMs && setting.who === who,
  );
}

/** `NaN` if the rival wasn't measured. @param {Failovers} failovers @param {readonly Failovers[]} measured */
function timesRival({ setting, rounds }, measured) {
  const theirs = found(measured, { ...setting, who: RIVAL });
  return median(rounds.flat()) / median(theirs?.rounds.flat() ?? []);
}

/** @param {readonly number[]} times */
function p99(times) {
  return quantile(times, times.length < ENOUGH_FOR_P99 ? 1 : 0.99);
}
