import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { entered, type FinishedWorld, type Hours, HoursFile, nextSeed, progress, reserved } from './hours.js';

const SUBJECT = { core: 'c0ffee', faults: 'few' } as const;

const clean = (...seeds: number[]): FinishedWorld[] =>
  seeds.map((seed) => ({ seed, hours: 1.25, isClean: true }));

it('merges seeds into ranges, whatever their order', () => {
  const once = entered([], SUBJECT, clean(12, 10, 11, 14), 'a');
  expect(once).toMatchObject([{ ...SUBJECT, hours: 5, seeds: '10-12 14', commits: 'a' }]);
  expect(entered(once, SUBJECT, clean(13, 9), 'b')).toMatchObject([
    { hours: 7.5, seeds: '9-14', commits: 'a b' },
  ]);
});

it('counts a seed once', () => {
  const once = entered([], SUBJECT, clean(10, 11, 10), 'a');
  expect(entered(once, SUBJECT, clean(11, 12), 'a')).toMatchObject([
    { hours: 3.75, seeds: '10-12', commits: 'a' },
  ]);
});

it('never counts the hours of a world with a violation, also when it is clean the next time', () => {
  const once = entered([], SUBJECT, [...clean(10), { seed: 11, hours: 1, isClean: false }], 'a');
  expect(once).toMatchObject([{ hours: 1.25, seeds: '10', violations: '11' }]);
  expect(entered(once, SUBJECT, clean(11), 'a')).toMatchObject([{ hours: 1.25, violations: '11' }]);
  expect(progress(once, SUBJECT.core)[0]).toContain('violations with the seeds 11');
});

it('keeps cores and kinds of faults apart', () => {
  const first = entered([], SUBJECT, clean(10), 'a');
  const both = entered(first, { ...SUBJECT, faults: 'many' }, clean(10), 'a');
  const all = entered(both, { ...SUBJECT, core: 'f00d' }, clean(10), 'a');
  expect(all.map(({ hours }) => hours)).toEqual([1.25, 1.25, 1.25]);
});

it('says what is missing of each kind', () => {
  const all = entered([], SUBJECT, clean(10), 'a');
  expect(progress(all, SUBJECT.core)).toEqual([
    '  few: 1.3 of 10000 h, 9998.8 h are missing',
    ...['many', 'takeover', 'stalls', 'shards'].map(
      (each) => `  ${each}: 0.0 of 10000 h, 10000.0 h are missing`,
    ),
  ]);
});

it('begins a run above all seeds of its kind, and above those of a run that is under way', () => {
  const first = nextSeed([], 'few');
  const under = reserved([], SUBJECT, first + 40);
  expect(nextSeed(under, 'few')).toBe(first + 40);
  expect(nextSeed(under, 'many')).toBe(first);
  const done = entered(under, { ...SUBJECT, core: 'f00d' }, clean(first + 100), 'a');
  expect(nextSeed(done, 'few')).toBe(first + 101);
});

it('loses no entry of runs that write at the same time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hours-'));
  try {
    const path = join(folder, 'entered.json');
    writeFileSync(path, '[]\n');
    const runs = Array.from({ length: 20 }, (_, seed) =>
      new HoursFile(path).change((all: readonly Hours[]) => entered(all, SUBJECT, clean(2 * seed), 'a')),
    );
    await Promise.all(runs);
    expect(new HoursFile(path).read()).toMatchObject([{ hours: 25 }]);
    expect(readdirSync(folder)).toEqual(['entered.json']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
