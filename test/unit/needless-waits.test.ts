import { describe, expect, it } from 'vitest';
import type { LeaderElector } from '../../src/election/leader-elector.js';
import { takeoverDelayMs } from '../../src/lease/failure-detector.js';
import { heartbeatPathOf } from '../../src/queue/names-and-order.js';
import type { NodeData, TransactionPart } from '../../src/session/protocol/multi-and-stats.js';
import { startElection } from '../support/conclave/elections-in-test-time.js';

const PATH = '/election';
const TIMES = { sessionTimeoutMs: 30_000, leaseMs: 2000 };
const DELAY_MS = takeoverDelayMs(TIMES.leaseMs);
const HEARTBEAT_MS = TIMES.leaseMs / 4;
const A_WHILE_MS = 2 * TIMES.sessionTimeoutMs;

async function setUp() {
  const election = await startElection(PATH, TIMES);
  const { clock } = election;
  /** Measures how long the elector takes from now on until it leads. */
  const untilElected = (elector: LeaderElector) => {
    const beganAt = clock.now();
    let tookMs: number | undefined;
    elector.once('elected', () => {
      tookMs = clock.now() - beganAt;
    });
    return () => tookMs;
  };
  return { ...election, untilElected };
}

describe('the first in the queue', () => {
  it('leads at once if the leader releases between the reads of the record and of its node', async () => {
    const { clock, server, join, lead, untilElected } = await setUp();
    const former = await lead('former');
    const first = await join('first');
    const preferred = await join('preferred', { priority: 5 });
    await clock.advance(A_WHILE_MS);
    preferred.once('elected', () => void preferred.stop());
    const tookMs = untilElected(first);
    server.delay(100, { only: 'getData', path: PATH, times: 1 }); // Delays the read of `first` after its predecessor has gone.
    await clock.advanceUntil(former.stop());
    await clock.advance(10 * DELAY_MS);
    expect(tookMs()).toBe(100);
  });
});

describe('a candidate that follows a silent leader', () => {
  it.each([-20, -1, 0, 20])(
    'is late by no second delay if its connection is lost when it is to claim: %d ms after that',
    async (byMs) => {
      const { clock, server, join, lead, atServer, untilElected } = await setUp();
      const [silent, next] = [await lead('silent'), await join('next')];
      await clock.advance(A_WHILE_MS);
      const tookMs = untilElected(next);
      atServer(silent).partition();
      await clock.advance(DELAY_MS - HEARTBEAT_MS + byMs);
      for (let passedMs = 0; passedMs < HEARTBEAT_MS && tookMs() === undefined; passedMs += 60) {
        server.refuse();
        atServer(next).dropConnection();
        await clock.advance(60);
        server.admit();
        await clock.advance(0);
      }
      await clock.advance(3 * DELAY_MS);
      expect(tookMs()).toBeLessThan(2 * DELAY_MS - HEARTBEAT_MS);
    },
  );
});

describe('a release', () => {
  it('of a term that was handed over is clean also by a server that is behind', async () => {
    const { clock, join, lead, atServer, untilElected } = await setUp();
    const [former, brief, last] = [await lead('former'), await join('brief'), await join('last')];
    await clock.advance(A_WHILE_MS);
    const { session } = brief;
    const [getData, commit] = [session.getData.bind(session), session.commit.bind(session)];
    const before = await clock.advanceUntil(getData(PATH));
    let isBehind = false;
    session.getData = async (path: string): Promise<NodeData> => {
      const read = await getData(path);
      return isBehind && path === PATH ? before : read;
    };
    session.commit = async (parts: readonly TransactionPart[]) => {
      const reply = await commit(parts);
      isBehind = false;
      return reply;
    };
    brief.once('elected', () => {
      isBehind = true;
      atServer(brief).dropConnection();
      session.once('suspended', () => void brief.stop());
    });
    const tookMs = untilElected(last);
    await clock.advanceUntil(former.stop());
    await clock.advance(3 * DELAY_MS);
    expect(tookMs()).toBeLessThan(HEARTBEAT_MS);
  });

  it('is clean also if another client has deleted the heartbeat node', async () => {
    const { clock, open, join, lead, pathOf, untilElected } = await setUp();
    const [leader, next] = [await lead('leader'), await join('next')];
    await clock.advance(A_WHILE_MS);
    const operator = await open(TIMES);
    const tookMs = untilElected(next);
    const deleting = operator.remove(heartbeatPathOf(pathOf(leader)));
    const stopping = leader.stop();
    await clock.advanceUntil(Promise.all([deleting, stopping]));
    await clock.advance(3 * DELAY_MS);
    expect(tookMs()).toBeLessThan(HEARTBEAT_MS);
  });
});
