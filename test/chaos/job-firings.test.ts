import { describe, expect, it } from 'vitest';
import { tallyFirings } from '../support/conclave/scheduled-service.js';
import { concurrently } from '../support/vitest/test-end.js';

// By hand, thirty-two of each: SOAK_ROUNDS=8 npx vitest run --project chaos test/chaos/job-firings.test.ts
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 1);
const SERVICES = 4;
/** A round waits for one firing, and for the next leader. */
const TIMEOUT_MS = 60_000 + ROUNDS * 20_000;

describe('with one clock two seconds off, the firings around a change of the leader', () => {
  it.concurrent(
    'run once if the leader resigns; with a question for isLeader some are lost or run twice',
    { timeout: TIMEOUT_MS },
    concurrently(async () => {
      const tally = await tallyFirings({ isKill: false, services: SERVICES, rounds: ROUNDS });
      const { naive, default: byDefault, recover } = tally;
      expect([byDefault.lost, byDefault.twice, recover.lost, recover.twice]).toEqual([0, 0, 0, 0]);
      if (ROUNDS > 1) expect(naive.lost + naive.twice).toBeGreaterThan(0); // In one round it may have luck.
    }),
  );

  it.concurrent(
    'never run twice if the leader is killed, and none is lost that is to be recovered',
    { timeout: TIMEOUT_MS },
    concurrently(async () => {
      const tally = await tallyFirings({ isKill: true, services: SERVICES, rounds: ROUNDS });
      const { naive, default: byDefault, recover } = tally;
      expect([byDefault.twice, recover.lost]).toEqual([0, 0]);
      if (ROUNDS > 1) expect(naive.lost + naive.twice).toBeGreaterThan(0); // In one round it may have luck.
    }),
  );
});
