import { describe, expect, it } from 'vitest';
import { type Run, simulate } from './run.js';

const MOST_TRIES = 100;

/** Something that is wrong with Conclave, and that the simulation has to find out. */
export interface Wrong {
  readonly what: string;
  /** The kind of violation, and how it is described. */
  readonly found: RegExp;
  readonly faultRate?: Run['faultRate'];
  /** The first seed to try: with each change of what is simulated another one may be the first to show it. */
  readonly hint: number;
  /** Makes it wrong, and gives what makes it right again. */
  readonly make: () => () => void;
}

/** Has a method do something else. */
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

/** Has a test for each: the simulation finds it, in a world or in one of those that come next. */
export function findEach(wrongs: readonly Wrong[]): void {
  describe('the simulation finds', () => {
    for (const { what, hint, found, faultRate = 'many', make } of wrongs)
      it(what, async () => {
        const makeRight = make();
        let wrong: string[] = [];
        try {
          for (let seed = hint; wrong.length === 0 && seed < hint + MOST_TRIES; seed++) {
            const run: Run = { seed, hours: faultRate === 'few' ? 1 : 0.3, rules: 'shipped', faultRate };
            const { violations } = await simulate(run);
            wrong = violations.map((each) => `${each.kind}: ${each.what}`).filter((each) => found.test(each));
          }
        } finally {
          makeRight();
        }
        expect(wrong).not.toEqual([]);
      }, 300_000);
  });
}
