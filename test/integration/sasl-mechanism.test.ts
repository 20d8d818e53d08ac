/** Mechanisms of SASL on the embedded server: when they are asked, and what follows from each of their answers. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  AuthenticationError,
  ConnectTimeoutError,
  InvalidOptionError,
  NoServerError,
} from '../../src/errors.js';
import { kerberos } from '../../src/kerberos/index.js';
import { ignore } from '../../src/platform/async/promises.js';
import { digestMd5 } from '../../src/session/sasl/digest-md5-exchange.js';
import type { SaslMechanism } from '../../src/session/sasl/sasl-mechanism.js';
import { errorsOf, recordEvents } from '../support/events.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';
import { FakeKerberos } from '../unit/kerberos/fake-module.js';

const saslUsers = { worker: 'worker-secret' };
const WORKER = { username: 'worker', password: saslUsers.worker };
const WRONG = { username: 'worker', password: 'wrong-secret' };

/** A mechanism that gives these tokens, and asks to begin first. */
const mechanism = (step: (token: unknown) => unknown, begin: () => void = ignore) =>
  ({
    begin: () => {
      begin();
      return { step };
    },
  }) as unknown as SaslMechanism;

describe('a mechanism of SASL', () => {
  const start = async () => {
    const world = await startWithTestClock();
    world.server.setSaslUsers(saslUsers);
    return world;
  };

  it.each([
    [
      'its beginning',
      mechanism(ignore, () => {
        throw new Error('no ticket');
      }),
    ],
    ['a step', mechanism(() => Promise.reject(new Error('no ticket')))],
  ])('that fails in %s is a failed try, and the cause of the time-out', async (_, sasl) => {
    const { clock, open } = await start();
    const opening = open({ sasl, connectTimeoutMs: 3000 });
    opening.catch(ignore);
    await clock.advance(3500);
    await expect(opening).rejects.toBeInstanceOf(ConnectTimeoutError);
    await expect(opening).rejects.toThrow('no ticket');
  });

  it.each([
    ['session.sasl.begin()', { begin: () => ({}) }],
    ['session.sasl.begin()', { begin: () => undefined }],
    ['session.sasl.step()', mechanism(() => 'a token')],
    ['session.sasl.step()', mechanism(() => null)],
  ])('whose %s gives something else is a wrong option', async (option, sasl) => {
    const { open } = await start();
    const opening = open({ sasl: sasl as SaslMechanism });
    await expect(opening).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(opening).rejects.toMatchObject({ option, value: expect.anything() });
  });

  it.each([
    [
      'Kerberos',
      () => kerberos(new FakeKerberos(), { hostOf: () => 'zk1' }),
      'it does not take the Kerberos ticket for zookeeper/zk1: is that its principal, has its keytab',
    ],
    ['another one', () => mechanism(() => Buffer.alloc(1)), 'does it expect this mechanism of SASL'],
  ])(
    'that is %s is told what to check when a server refuses it, and not to check a password',
    async (_, make, advice) => {
      const { server, open } = await start();
      server.failWith('AUTH_FAILED', { operation: 'sasl' });
      const opening = open({ sasl: make() });
      await expect(opening).rejects.toBeInstanceOf(AuthenticationError);
      await expect(opening).rejects.toThrow(`a server refused session.sasl (AUTH_FAILED, -115): ${advice}`);
      await expect(opening).rejects.toHaveProperty(
        'cause.message',
        'a server refused session.sasl (AUTH_FAILED, -115)',
      );
      await expect(opening).rejects.not.toThrow('password');
    },
  );

  it('that fails later, in its beginning, is a failed try: the session goes on without a server until it works again', async () => {
    const { clock, server, open } = await start();
    let fails = false;
    const begin = async () => {
      if (fails) throw new Error('no ticket');
      return digestMd5(WORKER, randomUUID).begin();
    };
    const session = await open({ sasl: { begin } });
    const errors = errorsOf(session);
    const resumed = recordEvents(session, 'resumed');
    fails = true;
    server.dropConnections();
    await clock.advance(5000);
    expect(errors[0]).toBeInstanceOf(NoServerError);
    expect(errors[0]?.message).toContain('no ticket');
    fails = false;
    await clock.advanceUntil(() => resumed.length === 1);
  });

  it('that a server refuses later, or demands, is shown to it again about once a second', async () => {
    for (const [isShown, why] of [
      [true, 'refused session.sasl'],
      [false, 'the servers require authentication'],
    ] as const) {
      const requireAuth = isShown ? undefined : (['sasl'] as const);
      const settings = { saslUsers, maxSessionTimeoutMs: 100_000, ...(requireAuth && { requireAuth }) };
      const { clock, server, open } = await startWithTestClock(settings);
      let next: SaslMechanism | typeof WORKER = WORKER;
      const session = await open({ sasl: () => next, sessionTimeoutMs: 100_000 }); // After which it would be given up.
      const errors = errorsOf(session);
      const resumed = recordEvents(session, 'resumed');
      next = isShown ? WRONG : mechanism(ignore); // The latter shows nothing.
      server.dropConnections();
      await clock.advance(10_000);
      server.resetCounts();
      await clock.advance(60_000);
      expect(server.count('connect')).toBeGreaterThan(50);
      expect(server.count('connect')).toBeLessThanOrEqual(130);
      expect(session.state.name).toBe('suspended');
      expect(errors[0]).toBeInstanceOf(NoServerError);
      expect(errors[0]?.cause).toBeInstanceOf(AuthenticationError);
      expect(errors[0]?.message).toContain(why);
      next = WORKER;
      await clock.advanceUntil(() => resumed.length === 1);
    }
  });

  it('whose connection is lost within a step is not waited for: the next connection begins again', async () => {
    const { clock, server, open } = await start();
    let [exchanges, isStuck] = [0, true];
    const begin = () => {
      exchanges++;
      return isStuck ? { step: () => new Promise<undefined>(ignore) } : digestMd5(WORKER, randomUUID).begin();
    };
    const opening = open({ sasl: { begin } });
    await clock.advanceUntil(() => exchanges === 1);
    isStuck = false;
    const lostAt = clock.now();
    server.dropConnections();
    await clock.advanceUntil(opening);
    expect(clock.now() - lostAt).toBeLessThan(2000); // A third of the session timeout, for a step that doesn't end.
    expect([exchanges, server.sessions().length]).toEqual([2, 1]);
  });

  it('whose step does not end is left with its connection, after a third of the session timeout', async () => {
    const { clock, open, server } = await start();
    let steps = 0;
    const sasl = mechanism(() => {
      steps++;
      return new Promise(ignore);
    });
    const opening = open({ sasl, connectTimeoutMs: 5000 });
    opening.catch(ignore);
    await clock.advance(1900);
    expect(steps).toBe(1);
    await clock.advance(500);
    expect(steps).toBe(2);
    await clock.advance(3000);
    await expect(opening).rejects.toThrow('gave no token in time');
    expect(server.sessions().length).toBeLessThanOrEqual(1);
  });

  it('that does not come to its end is refused after ten tokens', async () => {
    const { open } = await startWithTestClock(); // Without users, it answers each token with none.
    let steps = 0;
    const sasl = mechanism(() => {
      steps++;
      return Buffer.alloc(1);
    });
    await expect(open({ sasl })).rejects.toBeInstanceOf(AuthenticationError);
    expect(steps).toBe(11);
  });

  it('is told which server it talks to, and whether that has sent a token', async () => {
    const { server, open } = await startWithTestClock(); // Without users, it sends none.
    const [servers, tokens]: [unknown[], unknown[]] = [[], []];
    const sasl: SaslMechanism = {
      begin: (given) => {
        servers.push(given);
        return {
          step: (token) => {
            tokens.push(token);
            return token === undefined ? new Uint8Array() : undefined;
          },
        };
      },
    };
    await open({ sasl });
    expect(servers).toEqual([{ host: '127.0.0.1', port: server.port }]);
    expect(tokens).toEqual([undefined, null]);
  });
});
