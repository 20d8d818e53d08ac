/** Rounds of tries: when they end, which addresses they try, and how often names are looked up. */
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AuthenticationError, ConnectTimeoutError } from '../../src/errors.js';
import { ignore } from '../../src/platform/async/promises.js';
import type { Environment } from '../../src/platform/injected-environment.js';
import { Session } from '../../src/session/session.js';
import { type EmbeddedZooKeeper, TestClock } from '../../src/testing/index.js';
import { recordEvents } from '../support/events.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../support/silent-logger.mjs';

const LEASE_MS = 2000; // Of the default session timeout.

/** A network in which some addresses have servers, and the others are silent. `means` says what each name means. */
function network(
  clock: TestClock,
  serverAt: (address: string) => EmbeddedZooKeeper | undefined,
  means: (host: string) => Promise<readonly string[]>,
): Environment {
  return {
    ...clock.environment,
    random: () => 1 - 1e-9, // Names and addresses in the order in which they are listed.
    resolve: means,
    openSocket: ({ host }, reader) => {
      const server = serverAt(host);
      if (server === undefined) return new Socket();
      return clock.environment.openSocket({ host: '127.0.0.1', port: server.port }, reader);
    },
  };
}

const demanding = (saslUsers: Record<string, string>) =>
  startWithTestClock({ saslUsers, requireAuth: ['sasl'] });

describe('a round of servers', () => {
  it('never ended when a refusal took longer than 2 s: connect() rejected with a time-out instead of the refusal', async () => {
    const { clock, server, open } = await demanding({ worker: 'right' });
    server.delay(1200, { only: 'sasl' }); // Two answers.
    const sasl = { username: 'worker', password: 'wrong' };
    const opening = open({ sasl, sessionTimeoutMs: 10_000, connectTimeoutMs: 12_000 });
    await expect(clock.advanceUntil(opening)).rejects.toBeInstanceOf(AuthenticationError);
    expect(clock.now()).toBeLessThan(3000);
  });

  it('never ended when a refusal took longer than 2 s: a password that had changed meanwhile was not asked for again', async () => {
    const { clock, server, open } = await demanding({ worker: 'A' });
    let [password, calls] = ['A', 0];
    const sasl = () => {
      calls++;
      return { username: 'worker', password };
    };
    const session = await open({ sessionTimeoutMs: 10_000, sasl });
    await clock.advance(3000);
    const resumed = recordEvents(session, 'resumed');
    server.setSaslUsers({ worker: 'B' });
    server.delay(1200, { only: 'sasl' });
    server.dropConnections();
    await clock.advanceUntil(() => calls === 2);
    password = 'B';
    await clock.advanceUntil(() => resumed.length === 1, { timeoutMs: 8000 });
    expect(calls).toBe(3);
  });

  it('never ended when a mechanism of SASL took longer than 2 s to fail: no function was asked again', async () => {
    const { clock, server, open } = await startWithTestClock({ saslUsers: {} });
    let [lists, steps] = [0, 0];
    const step = async (): Promise<never> => {
      steps++;
      await new Promise<void>((resolve) => clock.after(2100, resolve));
      throw new Error('no ticket');
    };
    const list = () => {
      lists++;
      return server.connectString;
    };
    const sasl = { begin: () => ({ step }) };
    const opening = open({ sasl, sessionTimeoutMs: 10_000, connectTimeoutMs: 20_000 }, list);
    await expect(clock.advanceUntil(opening)).rejects.toBeInstanceOf(ConnectTimeoutError);
    expect(steps).toBeGreaterThan(5);
    expect(lists).toBe(steps);
  });

  it('tries all addresses of a name: the first one that refused was final', async () => {
    const { clock, server, open } = await demanding({});
    const passwords = new Map([
      ['10.0.0.1', 'A'],
      ['10.0.0.2', 'B'],
    ]);
    const serverAt = (address: string) => {
      server.setSaslUsers({ w: passwords.get(address) as string });
      return server;
    };
    const environment = network(clock, serverAt, async () => [...passwords.keys()]);
    for (const password of ['A', 'B']) {
      const sasl = { username: 'w', password };
      const session = await clock.advanceUntil(open({ environment, sasl }, 'zookeeper'));
      expect(session.state.name).toBe('connected');
    }
    const sasl = { username: 'w', password: 'C' };
    const refused = open({ environment, sasl }, 'zookeeper');
    await expect(clock.advanceUntil(refused)).rejects.toBeInstanceOf(AuthenticationError);
  });

  it('looks a name up again after each address that was silent: a lease was lost when three were outdated', async () => {
    const { clock, server, open } = await startWithTestClock();
    let lookups = 0;
    const serverAt = (address: string) => (address === '10.0.0.1' ? server : undefined);
    const environment = network(clock, serverAt, async () => {
      lookups++;
      return lookups === 2 ? ['10.0.9.1', '10.0.9.2', '10.0.9.3'] : ['10.0.0.1'];
    });
    const session = await clock.advanceUntil(open({ environment }, 'zookeeper'));
    await clock.advance(5000);
    const resumed = recordEvents(session, 'resumed');
    server.dropConnections();
    const sinceMs = clock.now();
    await clock.advanceUntil(() => resumed.length === 1);
    expect(clock.now() - sinceMs).toBeLessThan(LEASE_MS - LEASE_MS / 4); // A heartbeat is a quarter of a lease old by then.
    expect(lookups).toBe(3);
  });

  it('goes on with the addresses of a name that a silent resolver has told before', async () => {
    const { clock, server, open } = await startWithTestClock();
    let lookups = 0;
    const serverAt = (address: string) => (address === '10.0.0.2' ? server : undefined);
    const environment = network(clock, serverAt, () => {
      lookups++;
      return lookups === 1 ? Promise.resolve(['10.0.0.1', '10.0.0.2']) : new Promise(ignore);
    });
    const session = await clock.advanceUntil(open({ environment }, 'zookeeper'));
    expect(session.state.name).toBe('connected');
  });

  it('begins no lookup of a name while one has not ended: 22 were under way after 40 s of a silent resolver', async () => {
    const clock = new TestClock();
    const underWay: string[] = [];
    const environment = network(
      clock,
      () => undefined,
      (host) => {
        underWay.push(host);
        return new Promise(ignore);
      },
    );
    // Sessions follow one another when none can be opened, and others are opened beside them.
    for (let i = 0; i < 4; i++) {
      const options = { environment, connectTimeoutMs: 9000, logger: SILENT };
      const openings = ['a,b,c', 'c,d'].map((servers) => Session.connect(servers, options));
      for (const opening of openings) opening.catch(ignore);
      await clock.advanceUntil(Promise.allSettled(openings));
    }
    expect(underWay.sort()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('ends when the name is unknown, or each address was tried, and the next one looks the name up again', async () => {
    const { clock, server, open } = await startWithTestClock();
    let lookups = 0;
    const serverAt = (address: string) => (address === '10.0.0.5' ? server : undefined);
    const environment = network(clock, serverAt, async () => {
      lookups++;
      if (lookups === 1) throw new Error('no such name');
      return lookups < 6 ? ['10.0.0.1', '10.0.0.2'] : ['10.0.0.5'];
    });
    const tried: string[] = [];
    const openSocket: Environment['openSocket'] = (at, reader) => {
      tried.push(at.host);
      return environment.openSocket(at, reader);
    };
    await clock.advanceUntil(open({ environment: { ...environment, openSocket } }, 'zookeeper'));
    expect(tried).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.1', '10.0.0.5']);
  });
});
