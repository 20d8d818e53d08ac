import { beforeAll, describe, expect, it } from 'vitest';
import { RUNS_ALL } from '../support/vitest/extent.js';
import type { Verdict } from './nemesis/checker/check.js';
import { whyNoNetwork } from './nemesis/network.js';
import { expectAllKinds, expectNone, runCommand } from './nemesis/run-command.js';

const SEED = 9;
const HOW = ['--network', ...(RUNS_ALL ? ['--minutes', '10'] : ['--brief'])];
const LEAST_TERMS = RUNS_ALL ? 100 : 9;
// Servers and workers have to begin, and to end.
const ENDS_WITHIN_MS = (RUNS_ALL ? 10 * 60_000 : 0) + 360_000;

const why = await whyNoNetwork();

describe.skipIf(why !== undefined)(
  `faults of a network in which each server and worker has its own end${why === undefined ? '' : `: skipped, ${why}`}`,
  () => {
    let verdict: Verdict;

    beforeAll(async () => {
      verdict = await runCommand(SEED, HOW, ENDS_WITHIN_MS - 10_000);
    }, ENDS_WITHIN_MS);

    it('come in all kinds that the machine allows, and cost terms', () => {
      expectAllKinds(verdict);
      const terms = [...verdict.terms.terms.values()].reduce((sum, count) => sum + count, 0);
      expect(terms).toBeGreaterThanOrEqual(LEAST_TERMS);
    });

    it('violate nothing: no two leaders, no act without a lease, no term without an end and a clean-up, and nothing left behind', () => {
      expectNone(verdict.violations);
    });
  },
);
