import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../../src/cluster/supervisor/election-supervisor.js';
import type { LeaderElector } from '../../../src/election/leader-elector.js';
import { LostTermBackoff } from '../../../src/election/lost-term-backoff.js';
import type { DemotionReason } from '../../../src/errors.js';
import { TestClock } from '../../../src/testing/index.js';
import { startElection } from '../../support/conclave/elections-in-test-time.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../../support/silent-logger.mjs';

const LEASE_MS = 500;
const PATH = '/election';

function setUp(random = 0.5) {
  const clock = new TestClock();
  const backoff = new LostTermBackoff({ clock, random: () => random }, SILENT);
  /** The pause after a term that lasted this long and ended for this reason. */
  const pauseAfter = (reason: DemotionReason, lastedMs: number, hasConnection = true) => {
    backoff.termEnded({ reason, lastedMs, leaseMs: LEASE_MS, hasConnection });
    return backoff.pauseMs();
  };
  return { clock, backoff, pauseAfter };
}

describe('a candidate whose term was lost at once', () => {
  it('joins again at once after the first, and stays out after the second, and twice as long after each further one', () => {
    for (const [random, pauseMs] of [
      [0, 12_000],
      [0.5, 13_500],
      [0.999_999, 15_000],
    ] as const) {
      const { pauseAfter } = setUp(random);
      expect(pauseAfter('lease-expired', 100)).toBe(0);
      expect(pauseAfter('lease-expired', 999)).toBeCloseTo(pauseMs, 1);
      for (let further = 1; further <= 3; further++)
        expect(pauseAfter('lease-expired', 999)).toBeCloseTo(2 * pauseMs, 1);
    }
  });

  it('begins anew when it has led for two leases since the last one', () => {
    const { pauseAfter } = setUp(0);
    expect(pauseAfter('lease-expired', 100)).toBe(0);
    expect(pauseAfter('lease-expired', 1000)).toBe(1000);
    expect(pauseAfter('lease-expired', 100)).toBe(2000);
    expect(pauseAfter('lease-expired', 100)).toBe(12_000);
  });

  it('begins anew when the last one was minutes ago', async () => {
    const { clock, pauseAfter } = setUp();
    expect(pauseAfter('lease-expired', 100)).toBe(0);
    await clock.advance(300_001);
    expect(pauseAfter('lease-expired', 100)).toBe(0);
  });

  it('stays out for the longer of two pauses, and not for both', async () => {
    const { clock, pauseAfter } = setUp();
    pauseAfter('lease-expired', 100);
    expect(pauseAfter('lease-expired', 100)).toBe(13_500);
    expect(pauseAfter('lease-expired', 100, false)).toBe(13_500);
    await clock.advance(13_000);
    expect(pauseAfter('lease-expired', 100, false)).toBe(4500);
  });
});

describe('a candidate that gave back its short term', () => {
  it.each(['resigned', 'finished', 'revoked', 'stopped'] as const)('as %s has lost none', (reason) => {
    const { pauseAfter } = setUp();
    expect([pauseAfter(reason, 10), pauseAfter(reason, 10)]).toEqual([0, 0]);
    expect(pauseAfter('lease-expired', 100)).toBe(0);
    expect(pauseAfter(reason, 10)).toBe(0);
    expect(pauseAfter('lease-expired', 100)).toBe(0);
  });
});

describe('a candidate whose terms were lost by the network or another client', () => {
  const pauses = [0, 1000, 2000, 4000, 8000, 8000];

  it.each<[DemotionReason, boolean]>([
    ['lease-expired', false],
    ['session-expired', false],
    ['superseded', false],
    ['node-deleted', true],
    ['record-overwritten', true],
    ['refused', true],
  ])('as %s pauses shortly, from the second in a row on', (reason, hasConnection) => {
    const { pauseAfter } = setUp(0);
    expect(pauses.map(() => pauseAfter(reason, 10, hasConnection))).toEqual(pauses);
  });

  it('counts them even if each lasted for minutes, unless they were further apart', async () => {
    const { clock, pauseAfter } = setUp(0);
    expect(pauseAfter('session-expired', 200_000)).toBe(0);
    await clock.advance(299_000);
    expect(pauseAfter('session-expired', 290_000)).toBe(1000);
    await clock.advance(301_000);
    expect(pauseAfter('session-expired', 290_000)).toBe(0);
  });

  it('and then were lost at once pauses as long as after the first of these', () => {
    const { pauseAfter } = setUp(0);
    expect(pauseAfter('session-expired', 10, false)).toBe(0);
    expect(pauseAfter('lease-expired', 10)).toBe(1000);
    expect(pauseAfter('session-expired', 10, false)).toBe(2000);
    expect(pauseAfter('lease-expired', 10)).toBe(12_000);
  });
});

/** Starts this many candidates. `terms` is the number of terms so far, with those that the application never heard of. */
async function campaign(candidates: number, { leaseMs, commitMs }: { leaseMs: number; commitMs: number }) {
  const { clock, server, make, record } = await startElection(PATH, { leaseMs });
  for (const only of ['create', 'multi', 'delete', 'setData'] as const) server.delay(commitMs, { only });
  const electors: LeaderElector[] = [];
  for (let index = 0; index < candidates; index++) electors.push(await make(`${index}`));
  for (const elector of electors) await clock.advanceUntil(elector.start());
  const terms = () => {
    const read = record();
    return 'term' in read ? read.term : 0;
  };
  return { clock, server, electors, terms };
}

describe('an election whose leases replies can not keep', () => {
  // Without a cooldown: 72 and 121 terms in that minute with commits of 400 ms, 135 and 201 with 200 ms.
  it('has at most one term in 5 s', async () => {
    for (const [candidates, leaseMs, commitMs] of [
      [1, 500, 400],
      [2, 500, 400],
      [3, 500, 400],
      [2, 300, 200],
      [3, 300, 200],
      [2, 300, 350],
      [3, 300, 350],
    ] as const) {
      const shown = `${candidates} candidates, leases of ${leaseMs} ms, commits of ${commitMs} ms`;
      const { clock, terms } = await campaign(candidates, { leaseMs, commitMs });
      await clock.advance(60_000);
      const inFirstMinute = terms();
      expect(inFirstMinute, shown).toBeLessThanOrEqual(12);
      expect(inFirstMinute, shown).toBeGreaterThanOrEqual(2 * candidates);
      await clock.advance(60_000);
      expect(terms() - inFirstMinute, shown).toBeLessThanOrEqual(12);
      expect(terms() - inFirstMinute, shown).toBeGreaterThanOrEqual(candidates); // The candidates go on to lead.
    }
  });

  it('has a leader again within half a minute when commits are quick again', async () => {
    const { clock, server, electors } = await campaign(2, { leaseMs: 500, commitMs: 400 });
    await clock.advance(60_000);
    server.clearFaults();
    await clock.advance(31_000);
    expect(electors.filter(({ isLeader }) => isLeader)).toHaveLength(1);
  });
});

describe('a supervisor', () => {
  it('with default options leads again within 10 s when its server restarts three times, each time soon after it was elected', async () => {
    const { clock, server } = await startWithTestClock();
    const supervisor = new ElectionSupervisor({
      ...{ connect: server.connectString, path: PATH, logger: SILENT },
      session: { environment: clock.environment },
    });
    onTestFinished(() => clock.advanceUntil(supervisor.stop()));
    const reasons: string[] = [];
    supervisor.on('demoted', (_, reason) => void reasons.push(reason));
    await clock.advanceUntil(supervisor.start());
    await clock.advanceUntil(() => supervisor.isLeader);
    for (let restart = 1; restart <= 3; restart++) {
      await server.crash();
      await clock.advanceUntil(() => reasons.length === restart); // Its lease, 2 s, ends before the servers have a quorum again.
      const lostAt = clock.now();
      await server.restart();
      await clock.advanceUntil(() => supervisor.isLeader);
      expect(clock.now() - lostAt).toBeLessThan(10_000);
    }
    expect(reasons).toEqual(['lease-expired', 'lease-expired', 'lease-expired']);
  });
});
