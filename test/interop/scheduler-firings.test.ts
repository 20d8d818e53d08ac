import { describe, expect, it } from 'vitest';
import { SCHEDULES } from '../fixtures/schedules.mjs';
import { tallyFirings } from '../support/conclave/scheduled-service.js';
import { concurrently } from '../support/vitest/test-end.js';

// By hand, thirty-two of each: SOAK_ROUNDS=30 npx vitest run --project foreign test/interop/scheduler-firings.test.ts
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 2);
/** In half of the services the odd clock is ahead, in the others it is behind. */
const SERVICES = Math.min(4, ROUNDS);
/** A round waits for one firing, and for the next leader. */
const TIMEOUT_MS = 60_000 + Math.ceil(ROUNDS / SERVICES) * 20_000;

describe.each(Object.keys(SCHEDULES))('with %s, and one clock two seconds off, the firings', (scheduler) => {
  it.concurrent(
    'run once if the leader resigns',
    { timeout: TIMEOUT_MS },
    concurrently(async () => {
      const rounds = Math.ceil(ROUNDS / SERVICES);
      const { default: byDefault } = await tallyFirings({
        isKill: false,
        services: SERVICES,
        rounds,
        scheduler,
      });
      expect([byDefault.lost, byDefault.twice]).toEqual([0, 0]);
    }),
  );

  it.concurrent(
    'never run twice if the leader is killed, and none is lost that is to be recovered',
    { timeout: TIMEOUT_MS },
    concurrently(async () => {
      const rounds = Math.ceil(ROUNDS / SERVICES);
      const tally = await tallyFirings({ isKill: true, services: SERVICES, rounds, scheduler });
      const { default: byDefault, recover } = tally;
      expect([byDefault.twice, recover.lost]).toEqual([0, 0]);
    }),
  );
});
