import { describe, expect, it, onTestFinished } from 'vitest';
import type { LeaderElectorOptions } from '../../src/election/elector-options.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { takeoverDelayMs } from '../../src/lease/failure-detector.js';
import { heartbeatNodeOf } from '../../src/queue/names-and-order.js';
import type { NodeData, TransactionPart } from '../../src/session/protocol/multi-and-stats.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';

const PATH = '/election';
const TIMES = { sessionTimeoutMs: 30_000, leaseMs: 2000 };
const DELAY_MS = takeoverDelayMs(TIMES.leaseMs);
const HEARTBEAT_MS = TIMES.leaseMs / 4;
const A_WHILE_MS = 2 * TIMES.sessionTimeoutMs;

/** Starts an election whose candidates have sessions of their own. They are in the order in which they join. */
async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const join = async (id: string, options: LeaderElectorOptions = {}) => {
    const elector = new LeaderElector(await open(TIMES), PATH, { ...options, id });
    onTestFinished(() => {
      server.clearFaults();
      return clock.advanceUntil(elector.stop());
    });
    await clock.advanceUntil(elector.start());
    return elector;
  };
  const lead = async (id: string) => {
    const elector = await join(id);
    await clock.advanceUntil(() => elector.term);
    return elector;
  };
  const nodeOf = async (elector: LeaderElector) => {
    const candidates = await clock.advanceUntil(elector.candidates());
    return candidates.find(({ id }) => id === elector.id)?.node as string;
  };
  /** Measures how long the elector takes from now on until it leads. */
  const untilElected = (elector: LeaderElector) => {
    const beganAt = clock.now();
    let tookMs: number | undefined;
    elector.once('elected', () => {
      tookMs = clock.now() - beganAt;
    });
    return () => tookMs;
  };
  return { clock, server, open, join, lead, nodeOf, untilElected };
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

  it('waits out an unclean end from when it saw that first', async () => {
    const { clock, server, join, lead, nodeOf, untilElected } = await setUp();
    const former = await lead('former');
    const next = await join('next');
    const node = await nodeOf(former);
    await clock.advance(A_WHILE_MS);
    const tookMs = untilElected(next);
    server.expireSession((session) => session.id === server.sessionOf(`${PATH}/${node}`)?.id);
    await clock.advance(2 * DELAY_MS);
    expect(tookMs()).toBe(DELAY_MS);
  });
});

describe('a candidate that follows a silent leader', () => {
  it.each([-20, -1, 0, 20])(
    'is late by no second delay if its connection is lost when it is to claim: %d ms after that',
    async (byMs) => {
      const { clock, server, join, lead, nodeOf, untilElected } = await setUp();
      const [silent, next] = [await lead('silent'), await join('next')];
      await clock.advance(A_WHILE_MS);
      const [silentNode, ownNode] = [await nodeOf(silent), await nodeOf(next)];
      const tookMs = untilElected(next);
      server.sessionOf(`${PATH}/${silentNode}`)?.partition();
      await clock.advance(DELAY_MS - HEARTBEAT_MS + byMs);
      for (let passedMs = 0; passedMs < HEARTBEAT_MS && tookMs() === undefined; passedMs += 60) {
        server.refuse();
        server.sessionOf(`${PATH}/${ownNode}`)?.dropConnection();
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
    const { clock, server, join, lead, nodeOf, untilElected } = await setUp();
    const [former, brief, last] = [await lead('former'), await join('brief'), await join('last')];
    await clock.advance(A_WHILE_MS);
    const node = await nodeOf(brief);
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
      server.sessionOf(`${PATH}/${node}`)?.dropConnection();
      session.once('suspended', () => void brief.stop());
    });
    const tookMs = untilElected(last);
    await clock.advanceUntil(former.stop());
    await clock.advance(3 * DELAY_MS);
    expect(tookMs()).toBeLessThan(HEARTBEAT_MS);
  });

  it('is clean also if another client has deleted the heartbeat node', async () => {
    const { clock, open, join, lead, nodeOf, untilElected } = await setUp();
    const [leader, next] = [await lead('leader'), await join('next')];
    await clock.advance(A_WHILE_MS);
    const operator = await open(TIMES);
    const heartbeatNode = `${PATH}/${heartbeatNodeOf(await nodeOf(leader))}`;
    const tookMs = untilElected(next);
    const deleting = operator.remove(heartbeatNode);
    const stopping = leader.stop();
    await clock.advanceUntil(Promise.all([deleting, stopping]));
    await clock.advance(3 * DELAY_MS);
    expect(tookMs()).toBeLessThan(HEARTBEAT_MS);
  });
});
