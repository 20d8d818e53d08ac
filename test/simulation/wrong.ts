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
  /** The first seed to try. */
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

/**
 * The first seed from `hint` on whose world shows a mistake. With each change of what is simulated another one may be the first.
 * It fails the test if a hundred worlds don't show it.
 */
export async function seedThatShows(
  what: string,
  hint: number,
  shows: (seed: number) => Promise<boolean>,
  canShow: (seed: number) => boolean = () => true,
): Promise<number> {
  for (let [seed, tries] = [hint, 0]; tries < MOST_TRIES; seed++) {
    if (!canShow(seed)) continue;
    if (await shows(seed)) {
      if (tries > 0) console.log(`${what}: found with seed ${seed}; as the hint it would save time`);
      return seed;
    }
    tries++;
  }
  return expect.unreachable(`${what}: not found in ${MOST_TRIES} worlds`);
}

/** Defines a test for each mistake: the simulation finds it, in the first world or in one of the next. */
export function findEach(wrongs: readonly Wrong[]): void {
  describe('the simulation finds', () => {
    for (const { what, hint, found, faultRate = 'many', canShow, make } of wrongs)
      it(what, async () => {
        const isSought = (each: Violation) => found.test(`${each.kind}: ${each.what}`);
        const hours = faultRate === 'few' ? 1 : 0.3;
        const shows = async (seed: number) => {
          const { violations } = await simulate({ seed, hours, rules: 'shipped', faultRate }, isSought);
          return violations.some(isSought);
        };
        const makeRight = make();
        try {
          await seedThatShows(what, hint, shows, canShow);
        } finally {
          makeRight();
        }
      }, 300_000);
  });
}
