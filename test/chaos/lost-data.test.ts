import { describe, expect, it, onTestFinished } from 'vitest';
import { SessionExpiredError } from '../../src/errors.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import type { ZooKeeperServer } from '../../tools/zookeeper/server.mjs';
import { openSession } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { until } from '../support/waiting.mjs';

const TICK_MS = 200;

async function startServer() {
  // Settings of its own require a real server, wherever the tests run.
  const { servers, connectString, stop } = await startZooKeeper({
    tickMs: TICK_MS,
    settings: { snapCount: 100_000 },
  });
  onTestFinished(stop);
  return { server: servers[0] as ZooKeeperServer, connectString };
}

describe('a real server', () => {
  it('that has lost its data ends the sessions that it refused for what they had seen', async () => {
    const { server, connectString } = await startServer();
    const session = await openSession({ sessionTimeoutMs: 1000 }, connectString);
    await session.create('/seen');
    const expired = nextEvent(session, 'expired');
    await server.kill();
    await server.forget();
    await server.start();
    await expired;
    expect(session.signal.reason).toBeInstanceOf(SessionExpiredError);
    const next = await openSession({}, connectString);
    expect(await next.exists('/seen')).toBeUndefined();
  });

  it('that is restored from a backup after a while has to close a session that it knows', async () => {
    const { server, connectString } = await startServer();
    const timeoutMs = 20 * TICK_MS; // The longest that the server grants: a slow machine needs seconds to start it again.
    const session = await openSession({ sessionTimeoutMs: timeoutMs }, connectString);
    await session.create('/mine', { mode: 'ephemeral' });
    await server.kill();
    await server.backUp();
    let isBack = false;
    session.once('resumed', () => {
      isBack = true;
    });
    await server.start();
    await until(() => isBack || session.signal.aborted, 'the session goes on, or is over');
    expect(session.signal.reason).toBeUndefined();
    for (let round = 0; round < 10; round++) await session.create(`/later${round}`);
    const expired = nextEvent(session, 'expired');
    await server.kill();
    await server.restoreBackup();
    // Earlier, the server itself would end the session first: at its start it begins the session's time anew.
    const { state, clock } = session;
    const lostAt = state.name === 'suspended' ? state.sinceMs : clock.now();
    await until(
      () => clock.now() - lostAt > 1.5 * timeoutMs,
      'a session timeout and a half without a server',
    );
    await server.start();
    await expired;
    expect(session.signal.reason).toMatchObject({
      message: expect.stringContaining('restored from a backup'),
    });
    const next = await openSession({}, connectString);
    expect(await next.exists('/mine')).toBeUndefined();
    expect(await next.exists('/later0')).toBeUndefined();
  });
});
