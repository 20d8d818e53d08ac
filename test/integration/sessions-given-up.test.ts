/** Sessions that the client gives up: before a caller has them, and when the servers know them but refuse to serve them. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { ignore } from '../../src/platform/async/promises.js';
import { digestMd5 } from '../../src/session/sasl/digest-md5-exchange.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import { recordEvents } from '../support/events.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';

const SESSION_MS = 4000;

describe('a session that is being opened', () => {
  async function begin(chroot: string, phase: 'ping' | 'create') {
    const { clock, server, open } = await startWithTestClock();
    server.delay(60_000, { only: phase });
    const options = { sessionTimeoutMs: SESSION_MS, connectTimeoutMs: 20_000 };
    const opening = open(options, `${server.connectString}${chroot}`);
    opening.catch(ignore);
    await clock.advanceUntil(() => server.count(phase) > 0);
    return { clock, server, opening };
  }

  it.each([
    ['before it is served', '', 'ping'],
    ['before its chroot is there', '/app', 'create'],
  ] as const)(
    'expired for its caller when its link broke %s and no server followed for the session timeout: another session takes its place',
    async (_, chroot, phase) => {
      const { clock, server, opening } = await begin(chroot, phase);
      server.refuse();
      server.dropConnections();
      await clock.advance(2 * SESSION_MS);
      expect(server.sessions()).toEqual([]);
      server.clearFaults();
      server.admit();
      const session = await clock.advanceUntil(opening);
      expect(session.state.name).toBe('connected');
      expect(server.sessions().map(({ id }) => id)).toEqual([session.credentials.id]);
      await session.create('/node');
      expect(server.paths()).toContain(`${chroot}/node`);
    },
  );
});

describe('a session that the servers know and refuse to serve', () => {
  /** A holder of a lock, whose servers start again with another password, and another session that waits for the lock. */
  async function hold(sasl: NonNullable<SessionOptions['sasl']>) {
    const saslUsers = { holder: 'A', other: 'B' };
    const world = await startWithTestClock({ saslUsers, requireAuth: ['sasl'] });
    const { clock, server } = world;
    const open = async (given: NonNullable<SessionOptions['sasl']>) => {
      const session = await world.open({ sessionTimeoutMs: SESSION_MS, access: 'world', sasl: given });
      session.on('error', ignore);
      return session;
    };
    const [holder, other] = [await open(sasl), await open({ username: 'other', password: 'B' })];
    await clock.advanceUntil(new DistributedLock(holder, '/lock').acquire());
    return { clock, server, holder, other, waiting: new DistributedLock(other, '/lock').acquire() };
  }

  it('kept its nodes alive for ever by its handshakes: nobody got its lock', async () => {
    const { clock, server, holder, waiting } = await hold({ username: 'holder', password: 'A' });
    const expired = recordEvents(holder, 'expired');
    server.setSaslUsers({ holder: 'C', other: 'B' });
    server.dropConnections();
    const sinceMs = clock.now();
    await clock.advanceUntil(() => expired.length === 1);
    expect(clock.now() - sinceMs).toBeGreaterThanOrEqual(SESSION_MS);
    expect(holder.signal.reason.message).toContain('refused');
    await clock.advanceUntil(waiting);
    expect(clock.now() - sinceMs).toBeLessThan(3 * SESSION_MS);
  });

  it.each([
    ['fails', () => Promise.reject(new Error('no ticket'))],
    ['hangs', () => new Promise<never>(ignore)],
  ])('is given up, too, when its mechanism of SASL %s', async (_, fail) => {
    let works = true;
    const { begin } = digestMd5({ username: 'holder', password: 'A' }, randomUUID);
    const exchange = () => (works ? begin() : { step: fail });
    const { clock, server, holder, waiting } = await hold({ begin: exchange });
    const expired = recordEvents(holder, 'expired');
    works = false;
    server.dropConnections();
    await clock.advanceUntil(() => expired.length === 1);
    await clock.advanceUntil(waiting);
  });

  it('is kept when its server is only slow, and when a refusal ends within the session timeout', async () => {
    const { clock, server, holder } = await hold({ username: 'holder', password: 'A' });
    const resumed = recordEvents(holder, 'resumed');
    server.delay(SESSION_MS, { only: 'ping' });
    server.dropConnections();
    await clock.advance(3 * SESSION_MS);
    server.clearFaults();
    await clock.advanceUntil(() => resumed.length === 1);
    server.setSaslUsers({ holder: 'C', other: 'B' });
    server.dropConnections();
    await clock.advance(SESSION_MS / 2);
    server.setSaslUsers({ holder: 'A', other: 'B' });
    await clock.advanceUntil(() => resumed.length === 2);
  });
});
