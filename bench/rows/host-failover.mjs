import { chosen } from '../harness/compare.mjs';
import { failTogether } from './host-failover/fail-together.mjs';
import { COLUMNS, notesOf, rowsOf, SUMMARY, unmeasured } from './host-failover/report.mjs';
import { waves } from './host-failover/settings.mjs';

const ELECTIONS = 10;
const QUICK_ELECTIONS = 4;
/** Failovers that wait for a session's end yield one independent time in a round, so this row has more rounds than others. */
const MORE_ROUNDS = 2;

/** @typedef {import('./host-failover/report.mjs').Failovers} Failovers */

/**
 * Measures the time until another candidate leads after a leader's process or link has failed, without a guardian.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function hostFailover(bench) {
  const rounds = bench.quick ? 1 : MORE_ROUNDS * bench.rounds;
  const elections = bench.quick ? QUICK_ELECTIONS : ELECTIONS;
  const planned = waves(bench.quick);
  const names = new Set(planned.flat().map(({ contestant }) => contestant));
  const contestants = chosen(bench, ({ name }) => names.has(name));
  const measured = planned.map((wave) =>
    wave.filter(({ contestant }) => contestants.some(({ name }) => name === contestant)).map(unmeasured),
  );
  for (let round = 0; round < rounds; round++) {
    for (const [at, wave] of measured.entries()) {
      await failTogether(wave, contestants, { elections, phase: round / rounds });
      bench.say(`round ${round + 1} of ${rounds}, ${at + 1} of ${measured.length}: ${words(wave)}`);
    }
  }
  const all = measured.flat();
  return {
    id: 'host-failover',
    title: "Failover after a failure of the leader's process or link, without a guardian",
    columns: COLUMNS,
    table: rowsOf(all),
    summary: SUMMARY,
    notes: notesOf(all, elections),
    data: all,
  };
}

/** @param {readonly Failovers[]} wave */
function words(wave) {
  const leaders = new Set(wave.map(({ setting }) => setting.fault));
  return `${wave.length} contestants, ${[...leaders].join(', ')}`;
}
