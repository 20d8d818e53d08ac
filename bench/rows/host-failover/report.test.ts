import { describe, expect, it } from 'vitest';
import { COLUMNS, type Failovers, notesOf, rowsOf, SUMMARY } from './report.mjs';
import { ofConclave, RIVAL, waves } from './settings.mjs';

const failovers = (setting: Failovers['setting'], ...rounds: number[][]): Failovers => ({
  setting,
  rounds,
  alreadyLost: 0,
  failures: [],
});
const killed = ofConclave('killed', 6000);
const rival = { ...killed, contestant: RIVAL, who: RIVAL };

describe('the report of failovers', () => {
  it('compares with the rival after the same failure, with the same session timeout', () => {
    const measured = [
      failovers(killed, [2000, 2200], [2400, 2600]),
      failovers(rival, [4600]),
      failovers({ ...rival, sessionMs: 4000 }, [1]),
      failovers(ofConclave('stopped', 6000), [2500]),
    ];
    const rows = rowsOf(measured);
    expect(rows[0]).toEqual(['kill -9', 6, 'Conclave', 4, 2300, 2600, 2600, 0.5]);
    expect(rows[0]).toHaveLength(COLUMNS.length);
    expect(rows.map((cells) => cells.at(-1))).toEqual([0.5, 1, 1, '–']);
  });

  it('takes the 99th percentile of a hundred, and the longest of fewer', () => {
    const times = Array.from({ length: 100 }, (_, at) => at + 1);
    const [hundred, fewer] = rowsOf([failovers(killed, times), failovers(rival, times.slice(0, 99))]);
    expect(hundred?.slice(5, 7)).toEqual([99, 100]);
    expect(fewer?.slice(5, 7)).toEqual([99, 99]);
  });

  it('shows in short what is measured', () => {
    const names = new Set(waves(false).flatMap((wave) => wave.map(({ who }) => who)));
    expect(SUMMARY.only.filter((who) => !names.has(who))).toEqual([]);
    expect(COLUMNS).toEqual(expect.arrayContaining([...SUMMARY.lines, SUMMARY.across, SUMMARY.value]));
  });

  it('tells how many terms had ended before, and shows no row if all had', () => {
    const lost = { ...failovers(killed, []), alreadyLost: 10 };
    expect(rowsOf([lost])).toEqual([]);
    expect(notesOf([lost, failovers(rival, [6000])], 10).at(-1)).toBe(
      'Terms that had ended before their leader failed, and are left out (how many): Conclave, kill -9, session 6 s (10).',
    );
  });

  it('shows no row, and says why, if all rounds broke down', () => {
    const broken = {
      setting: killed,
      rounds: [],
      alreadyLost: 0,
      failures: ['failed to join\nat all', 'lost', 'failed to join'],
    };
    const other = { ...failovers(rival, [6000]), failures: ['lost'] };
    expect(rowsOf([broken])).toEqual([]);
    expect(notesOf([broken, other], 10).slice(-2)).toEqual([
      'Rounds that broke down and are left out (how many): Conclave, kill -9, session 6 s (2): failed to join',
      `Rounds that broke down and are left out (how many): Conclave, kill -9, session 6 s (1); ${RIVAL}, kill -9, session 6 s (1): lost`,
    ]);
  });
});
