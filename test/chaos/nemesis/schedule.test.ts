import { describe, expect, it } from 'vitest';
import { briefStorm, KINDS, type Kind, kindsOf, type Links, type Storm, storms } from './schedule.js';

const NUMBERS = { workers: 5, servers: 3, journals: 4 };
const LINKS: readonly Links[] = ['proxied', 'wired'];

function firstStorms(seed: number, count: number, links: Links = 'proxied'): Storm[] {
  const all = storms(seed, { ...NUMBERS, links });
  return Array.from({ length: count }, () => all.next().value);
}

function countKinds(seed: number, storms: number, links?: Links): Map<Kind, number> {
  const counts = new Map<Kind, number>();
  for (const { faults } of firstStorms(seed, storms, links))
    for (const { kind } of faults) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

describe('the schedule of faults', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(firstStorms(8, 20)).toEqual(firstStorms(8, 20));
    expect(firstStorms(9, 20)).not.toEqual(firstStorms(8, 20));
  });

  it.each(LINKS)('has every kind of fault in its first three storms, whatever the seed: %s', (links) => {
    for (let seed = 0; seed < 200; seed++)
      expect(countKinds(seed, 3, links).size, `seed ${seed}`).toBe(kindsOf(links).length);
  });

  it.each(LINKS)('has every kind of fault once in a brief storm, whatever the seed: %s', (links) => {
    for (let seed = 0; seed < 200; seed++) {
      const kinds = briefStorm(seed, { ...NUMBERS, links }).faults.map(({ kind }) => kind);
      expect(kinds.toSorted()).toEqual(kindsOf(links).toSorted());
    }
  });

  it('has more of those that weigh more', () => {
    const counts = countKinds(8, 2000);
    const heavy = counts.get('a worker is cut off') as number;
    const light = counts.get('all servers are restarted in turn') as number;
    const weights = KINDS.proxied;
    expect(weights['a worker is cut off']).toBeGreaterThan(weights['all servers are restarted in turn']);
    expect(heavy).toBeGreaterThan(1.5 * light);
  });

  it('gives every fault a time in its storm, an end, and a target', () => {
    for (const { faults } of firstStorms(8, 200)) {
      expect(faults.map(({ atMs }) => atMs)).toEqual(
        faults.map(({ atMs }) => atMs).toSorted((a, b) => a - b),
      );
      for (const { atMs, forMs, worker, server, journal, amount } of faults) {
        expect(atMs).toBeLessThanOrEqual(25_000);
        expect(forMs).toBeGreaterThanOrEqual(200);
        expect(forMs).toBeLessThanOrEqual(12_000);
        expect([worker < 5, server < 3, journal < 4, amount <= 1]).toEqual([true, true, true, true]);
      }
    }
  });
});
