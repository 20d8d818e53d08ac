import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LockNode } from '../../src/lease/own-node.js';
import type { Session } from '../../src/session/session.js';
import type { ZooKeeperServer } from '../../tools/zookeeper/server.mjs';
import { ConnectionTracker } from '../support/conclave/connection-tracker.js';
import { inOrder, openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import type { TcpProxy } from '../support/faults/tcp-proxy.mjs';
import { connectStringOf, Ensemble } from '../support/servers/ensemble.js';
import { concurrently } from '../support/vitest/test-end.js';

const SESSION_TIMEOUT_MS = 4000;
// A fifth of the session timeout until the next heartbeat, a third until it is given up, which makes 2133 ms; the rest
// is for the handshake with the next server.
const BACK_WITHIN_MS = 2500;
// When the fault comes, counted from when the session was connected, as its heartbeats are. The first time is the
// worst, with the whole period of an idle session still ahead.
const MOMENTS_MS = [0, 200, 400, 600];

type Holding = 'nothing held' | 'a node kept alive';

/** A session with an ephemeral node, over a proxy for each of these servers. */
async function connectTo(servers: readonly ZooKeeperServer[], holding: Holding) {
  const proxies = await Promise.all(servers.map(({ port }) => startProxy(port)));
  const environment = new ConnectionTracker(inOrder);
  const options = { sessionTimeoutMs: SESSION_TIMEOUT_MS, environment };
  const session = await openSession(options, connectStringOf(proxies));
  expect(session.sessionTimeoutMs).toBe(SESSION_TIMEOUT_MS);
  // What a server's JVM does for the first time it does slowly: so each server takes the session once beforehand. On a
  // busy machine one may be too slow, and be passed over: it has another turn.
  const warm = new Set<TcpProxy>();
  while (warm.size < proxies.length) {
    await eventAfter(session, 'resumed', () => environment.serverAmong(proxies).dropConnections());
    warm.add(environment.serverAmong(proxies));
  }
  const path = uniquePath('half-open');
  const { sentAt } = await session.create(path, { mode: 'ephemeral' });
  if (holding === 'a node kept alive') LockNode.of(session, path, sentAt).keepAlive();
  /** Which of these the session is connected to. */
  const current = <T>(places: readonly T[]) => places[proxies.indexOf(environment.serverAmong(proxies))] as T;
  return { session, path, proxies, current };
}

/**
 * Resolves when a server that goes on after a pause takes sessions again. The next fault needs another server that
 * serves. A server that doesn't serve yet costs one handshake in vain there, and one more at the server that stands still.
 */
async function takesSessions(server: ZooKeeperServer): Promise<void> {
  const session = await openSession({}, server.connectString);
  await session.close();
}

/** How long from the fault until a server has answered a read of the session's node, in milliseconds. */
async function msUntilBack(session: Session, path: string, strike: () => void): Promise<number> {
  const resumed = nextEvent(session, 'resumed');
  const struckAt = performance.now();
  strike();
  await resumed;
  const { stat } = await session.getData(path);
  const tookMs = performance.now() - struckAt;
  expect(session.owns(stat)).toBe(true);
  return tookMs;
}

// All faults at once: they wait far more than they do, and no server starts while they are timed. Those that stand still
// are no other session's.
let ensembles: Record<'silent links' | Holding, Ensemble>;
beforeAll(async () => {
  const start = () => Ensemble.startForMany({ tickMs: 2000 });
  const [forLinks, first, second] = await Promise.all([start(), start(), start()]);
  await Promise.all([forLinks, first, second].map((each) => each.allServe()));
  ensembles = { 'silent links': forLinks, 'nothing held': first, 'a node kept alive': second };
});
afterAll(async () => void (await Promise.all(Object.values(ensembles).map(({ stop }) => stop()))));

describe.concurrent.each<Holding>(['nothing held', 'a node kept alive'])('a session with %s', (holding) => {
  it(
    `is back on another server within ${BACK_WITHIN_MS} ms when its link goes silent`,
    concurrently(async () => {
      const { servers } = ensembles['silent links'];
      const { session, path, proxies, current } = await connectTo(servers, holding);
      for (const momentMs of MOMENTS_MS) {
        await pause(momentMs);
        const link = current(proxies);
        expect(await msUntilBack(session, path, () => link.partition())).toBeLessThan(BACK_WITHIN_MS);
        expect(current(proxies)).not.toBe(link);
        link.restore();
      }
    }),
  );

  it(
    `is back on another server within ${BACK_WITHIN_MS} ms when its server stands still`,
    concurrently(async () => {
      // Of followers only: without their leader the others take no session until they have elected another one, and
      // that they begin after `syncLimit` ticks without a packet, which are 10 s here.
      const followers = await ensembles[holding].followers();
      const { session, path, current } = await connectTo(followers, holding);
      for (const momentMs of MOMENTS_MS) {
        await pause(momentMs);
        const server = current(followers);
        expect(await msUntilBack(session, path, () => server.pause())).toBeLessThan(BACK_WITHIN_MS);
        expect(current(followers)).not.toBe(server);
        server.resume();
        await takesSessions(server);
      }
    }),
  );
});
