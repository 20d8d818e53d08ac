import { describe, expect, it } from 'vitest';
import type { Violation } from './ledger.js';
import { type Run, simulate } from './run.js';

const MOST_TRIES = 100;

/** A mistake in Conclave that the simulation has to find. */
export interface Wrong {
  readonly what: string;
  /** The kind of violation, and how it is described. */
  readonly found: RegExp;
  readonly faultRate?: Run['faultRate'];
  /** Whether the world of that seed can show the mistake. @default each can */
  readonly canShow?: (seed: number) => boolean;
  /** The first seed to try: with each change of what is simulated another one may be the first to show it. */
  readonly hint: number;
  /** Makes the mistake, and returns a function that takes it back. */
  readonly make: () => () => void;
}

/** Replaces a method. */
export function replace<T extends object, K extends keyof T>(
  target: T,
  name: K,
  by: (right: T[K]) => T[K],
): () => void {
  const right = target[name];
  target[name] = by(right);
  return () => {
    target[name] = right;
  };
}

/** Defines a test for each mistake: the simulation finds it, in the first world or in one of the next. */
export function findEach(wrongs: readonly Wrong[]): void {
  describe('the simulation finds', () => {
    for (const { what, hint, found, faultRate = 'many', canShow = () => true, make } of wrongs)
      it(what, async () => {
        const makeRight = make();
        const isSought = (each: Violation) => found.test(`${each.kind}: ${each.what}`);
        let isFound = false;
        let [seed, tries] = [hint, 0];
        try {
          for (; !isFound && tries < MOST_TRIES; seed++) {
            if (!canShow(seed)) continue;
            tries++;
            const run: Run = { seed, hours: faultRate === 'few' ? 1 : 0.3, rules: 'shipped', faultRate };
            isFound = (await simulate(run, isSought)).violations.some(isSought);
          }
        } finally {
          makeRight();
        }
        expect(isFound).toBe(true);
        if (tries > 1) console.log(`${what}: found with seed ${seed - 1}; as the hint it would save time`);
      }, 300_000);
  });
}
