import { describe, expect, it } from 'vitest';
import { ofConclave } from '../host-failover/settings.mjs';
import type { Blocked } from './blocks.mjs';
import { COLUMNS, type Measured, report } from './report.mjs';
import { LEASE_MS, SESSION_MS } from './settings.mjs';

const answers = (denied: number, leastMs: number, firstDeniedAt?: number): Blocked['main'] => ({
  asked: 1000,
  denied,
  leastMs,
  firstDeniedAt,
});
const kept: Blocked = {
  way: 'with',
  leaseMs: LEASE_MS,
  blockMs: 5000,
  main: answers(0, 331),
  thread: answers(0, 330),
  kept: true,
  deniedAfterMs: undefined,
  replacedAfterMs: undefined,
};
const lost: Blocked = {
  ...kept,
  way: 'without',
  main: answers(900, 0.2, 500),
  thread: answers(910, 0.1, 500),
  kept: false,
  deniedAfterMs: 500,
  replacedAfterMs: 620.4,
};
const rounds = (without: number, beside: number) => ({ without: [[without], [without]], with: [[beside]] });
const measured: Measured = {
  blocks: [lost, kept],
  hangs: [
    { ...lost, way: 'with', deniedAfterMs: 2400, replacedAfterMs: 2600 },
    { ...lost, way: 'with', deniedAfterMs: 2500, replacedAfterMs: 2700 },
  ],
  nexts: { without: [1157], with: [1100, 1200] },
  failovers: [
    {
      fault: 'killed',
      way: 'with',
      setting: ofConclave('killed', SESSION_MS, { leaseMs: LEASE_MS, maxStallMs: 25_000 }),
      rounds: [[600, 640], [620]],
      alreadyLost: 0,
      failures: [],
    },
  ],
  busy: [
    { blockMs: 700, forMs: 1000, way: 'without', lost: 4, ledShare: 0.2 },
    { blockMs: 700, forMs: 1000, way: 'with', lost: 0, ledShare: 0.99 },
  ],
  collections: [{ way: 'with', tookMs: 388, kept: true }],
  costs: {
    startMs: rounds(26, 71),
    rssMb: rounds(51, 62),
    cpuPercent: rounds(1.1, 1.9),
    isHeldUs: rounds(2.4, 2.9),
    readUs: rounds(58, 152),
    cycleUs: rounds(303, 491),
    handoverUs: rounds(2200, 3300),
  },
};

describe('the report of blocked leaders', () => {
  it('sets the same without the option beside that with it', () => {
    const { table } = report(measured);
    const lines = new Map(table.map(([what, ...figures]) => [what, figures]));
    expect(lines.get('blocked 5 s, lease 0.5 s: least `remainingMs()`')).toEqual([0, 330]);
    expect(lines.get('blocked 5 s, lease 0.5 s: the term was kept')).toEqual(['no', 'yes']);
    expect(lines.get('blocked 5 s, lease 0.5 s: another led after, ms')).toEqual([620, 'never']);
    expect(lines.get('kill -9: another led after, p50, longest ms')).toEqual(['–', '620, 640']);
    expect(table.filter((cells) => cells.length !== COLUMNS.length)).toEqual([]);
  });

  it.each<[string, Partial<Measured>, number]>([
    ['nothing that is kept', {}, 0],
    ['a term that was lost', { blocks: [{ ...kept, kept: false }] }, 1],
    ['an answer that was `false`', { blocks: [{ ...kept, thread: answers(1, 330) }] }, 1],
    ['terms lost beside busy loops', { busy: measured.busy.map((each) => ({ ...each, lost: 2 })) }, 2],
    ['a term lost in a collection', { collections: [{ way: 'with', tookMs: 388, kept: false }] }, 1],
  ])('counts as lost %s', (_, change, count) => {
    const { table } = report({ ...measured, ...change });
    expect(table.find(([what]) => String(what).startsWith('terms lost in all'))?.[2]).toBe(count);
  });

  it('takes a leader that hangs and that nobody replaces for one that leads for ever', () => {
    const { table } = report({ ...measured, hangs: [kept] });
    expect(table.find(([what]) => String(what).includes('`maxStallMs` 2 s: another led'))?.[2]).toBe(
      Infinity,
    );
  });

  it('says which failovers are left out', () => {
    const [failover] = measured.failovers;
    const failovers = [
      { ...failover, alreadyLost: 3, failures: ['no server\nat all'] },
    ] as Measured['failovers'];
    const { notes } = report({ ...measured, failovers });
    expect(notes.slice(-2)).toEqual([
      'kill -9, with `maxStallMs`: 3 terms had ended before their leader failed.',
      'kill -9, with `maxStallMs`: a round is left out: no server',
    ]);
  });
});
