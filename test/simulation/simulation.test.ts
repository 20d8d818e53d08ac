import { describe, expect, it } from 'vitest';
import { Semaphore } from '../../src/lock/semaphore.js';
import type { TurnRule } from '../../src/queue/turn-rule.js';
import { RUNS_ALL } from '../support/vitest/extent.js';
import type { Violation } from './ledger.js';
import type { Rules } from './rules.js';
import { type Run, simulate } from './run.js';
import { Tally } from './tally.js';
import { violationsOf } from './violations-of.js';
import { seedThatShows } from './wrong.js';

const FIRST_SEED = 1;
/** How long the simulation goes on here, beyond the least hours; `npm run simulate` takes as long as its option says. */
const FOR_MS = Number(process.env.SIMULATE_FOR_MS ?? (RUNS_ALL ? 30_000 : 0));
const LEAST_HOURS = 10;
const MOST_HOURS = 120;

const many = (seed: number, rules: Rules = 'shipped', hours = 0.3): Run => {
  return { seed, hours, rules, faultRate: 'many' };
};

/** Whether a world has a violation of that kind. It is played until then. */
async function finds(run: Run, sought: string): Promise<boolean> {
  const isSought = ({ kind }: Violation) => kind === sought;
  return (await simulate(run, isSought)).violations.some(isSought);
}

describe('the simulation', () => {
  it('does the same again for the same seed, and something else for another', async () => {
    const first = await simulate(many(7));
    const second = await simulate(many(7));
    const other = await simulate(many(8));
    expect(first.counts.get('faults')).toBeGreaterThan(20);
    expect([second.trace, second.counts, second.simulatedMs]).toEqual([
      first.trace,
      first.counts,
      first.simulatedMs,
    ]);
    expect(other.trace).not.toBe(first.trace);
  }, 120_000);

  it('does the same again in another process, whose number has another length', async () => {
    const run: Run = { seed: 102, hours: 0.25, rules: 'shipped', faultRate: 'stalls' };
    const right = Object.getOwnPropertyDescriptor(process, 'pid') as PropertyDescriptor;
    const traces: number[] = [];
    try {
      for (const value of [7, 1_234_567]) {
        Object.defineProperty(process, 'pid', { ...right, value });
        traces.push((await simulate(run)).trace);
      }
    } finally {
      Object.defineProperty(process, 'pid', right);
    }
    expect(new Set(traces).size).toBe(1);
  }, 120_000);

  it('finds nothing wrong with the shipped rules, for as long as there is time', async () => {
    const tally = new Tally();
    const beganAt = performance.now();
    const wrong: string[] = [];
    const hasTime = () => performance.now() - beganAt < FOR_MS && tally.hours < MOST_HOURS;
    for (let seed = FIRST_SEED; hasTime() || tally.hours < LEAST_HOURS; seed++) {
      // Every twentieth world has many faults: it takes about as long as all the others together.
      const run: Run = { seed, hours: 1, rules: 'shipped', faultRate: seed % 20 === 0 ? 'many' : 'few' };
      const report = await simulate(run);
      tally.add(report);
      wrong.push(...report.violations.map(({ kind, what }) => `seed ${seed}: ${kind}: ${what}`));
    }
    console.log(tally.summary());
    expect(wrong).toEqual([]);
    expect(tally.count('terms')).toBeGreaterThan(10);
  }, 300_000);

  it.each<[Rules, number]>([
    ['no-delay', 12],
    ['pings', 272],
    ['pings-no-delay', 9],
    ['curator', 1],
  ])(
    'finds two leaders at once by the rule %s, where there is one by the shipped rules',
    async (rules, hint) => {
      const hours = 0.25;
      const isWrong = (seed: number) => finds(many(seed, rules, hours), 'two leaders');
      const seed = await seedThatShows(rules, hint, isWrong);
      expect(await violationsOf(many(seed, 'shipped', hours))).toEqual([]);
    },
    120_000,
  );

  it('finds a semaphore that lets one more in', async () => {
    const semaphore = Semaphore.prototype as unknown as {
      turnRule(signal: AbortSignal): Promise<TurnRule>;
    };
    const { turnRule } = semaphore;
    semaphore.turnRule = async function (signal) {
      const right = await turnRule.call(this, signal);
      return { ...right, capacity: right.capacity + 1 };
    };
    try {
      await seedThatShows('one more', 3, (seed) => finds(many(seed), 'lock out of turn'));
    } finally {
      semaphore.turnRule = turnRule;
    }
  }, 120_000);
});
