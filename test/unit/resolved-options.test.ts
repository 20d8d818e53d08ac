import { hostname } from 'node:os';
import { createSecureContext } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { resolveSupervisorOptions } from '../../src/cluster/supervisor/election-supervisor-options.js';
import { resolveElectorOptions } from '../../src/election/elector-options.js';
import { resolveObserverOptions } from '../../src/election/observer/election-observer.js';
import { InvalidOptionError } from '../../src/errors.js';
import { systemEnvironment } from '../../src/platform/injected-environment.js';
import { resolveLogger } from '../../src/platform/logging/logger.js';
import { Session } from '../../src/session/session.js';
import { resolveSessionOptions } from '../../src/session/session-options.js';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { SILENT } from '../support/silent-logger.mjs';

const logger = resolveLogger(undefined);
const session = (options?: unknown) => resolveSessionOptions(options, logger);
const ignore = () => undefined;
const LEAST = { connect: 'zk1', path: '/election' };
const ALICE = { scheme: 'digest', credentials: 'alice:secret' };

/** Loggers that note which of them is used. */
function notingLoggers() {
  const said: string[] = [];
  return { said, log: (name: string) => ({ ...console, info: () => void said.push(name) }) };
}

describe('what a session goes by', () => {
  it('is what the documentation says unless options say otherwise', () => {
    const { credentials, sasl, tls, ...others } = session();
    expect([credentials.value, sasl.value, tls.value]).toEqual([[], undefined, undefined]);
    expect(others).toEqual({
      hasSasl: false,
      sessionTimeoutMs: 6000,
      leaseMs: undefined,
      connectTimeoutMs: 10_000,
      access: 'world',
      allowUnprotectedPaths: false,
      thread: undefined,
      logger,
      signal: undefined,
      environment: systemEnvironment,
    });
  });

  it('is what the options say', () => {
    const { signal } = new AbortController();
    const environment = { ...systemEnvironment };
    const given = {
      sessionTimeoutMs: 2 ** 31 - 1,
      leaseMs: 2 ** 31 - 2,
      connectTimeoutMs: Number.POSITIVE_INFINITY,
      access: 'creator',
      allowUnprotectedPaths: true,
      signal,
      environment,
    };
    const resolved = session({ ...given, auth: ALICE });
    expect(resolved).toMatchObject(given);
    expect(resolved.credentials.value).toEqual([ALICE]);
    expect(resolved.signal).toBe(signal);
    expect(resolved.environment).toBe(environment);
  });

  it('gives a thread only options of tls that can be cloned, also when a function gives them', async () => {
    const tls = () => ({ checkServerIdentity: ignore });
    expect(await session({ tls }).tls.ask()).toEqual({ name: 'given' });
    expect(await session({ tls, maxStallMs: 30_000 }).tls.ask()).toMatchObject({
      name: 'wrong',
      error: { option: 'session.tls().checkServerIdentity' },
    });
  });

  it('has a thread with maxStallMs', () => {
    const { thread } = session({ maxStallMs: 30_000 });
    expect(thread).toEqual({ environment: systemEnvironment, maxStallMs: 30_000, sessionTimeoutMs: 6000 });
  });

  it.each([
    [{ maxStallMs: 2000 }, 'maxStallMs', 'above leaseMs, which is 2000, and below 2147483648'],
    [{ maxStallMs: 500, leaseMs: 500 }, 'maxStallMs', 'above leaseMs, which is 500'],
    [{ maxStallMs: 2 ** 31 }, 'maxStallMs', 'below 2147483648'],
    [{ maxStallMs: Number.POSITIVE_INFINITY }, 'maxStallMs', 'a number of milliseconds'],
    [{ maxStallMs: Number.NaN }, 'maxStallMs', 'a number of milliseconds'],
    [{ maxStallMs: '5000' }, 'maxStallMs', 'a number of milliseconds'],
    [{ maxStallMs: null }, 'maxStallMs', 'a number of milliseconds'],
    [{ maxStallMs: 5000, environment: systemEnvironment }, 'maxStallMs', 'left out with an environment'],
    [
      { maxStallMs: 5000, tls: { checkServerIdentity: ignore } },
      'tls.checkServerIdentity',
      'left out: with maxStallMs another thread',
    ],
    [
      { maxStallMs: 5000, tls: { secureContext: createSecureContext() } },
      'tls.secureContext',
      'left out: with maxStallMs another thread',
    ],
    [{ maxStallMs: 5000, tls: { pskCallback: ignore } }, 'tls.pskCallback', 'left out: with maxStallMs'],
  ])('has no thread by wrong options: %o', (wrong, option, expected) => {
    expect(() => session(wrong)).toThrow(InvalidOptionError);
    expect(() => session(wrong)).toThrow(expected);
    expect(() => session(wrong)).toThrow(expect.objectContaining({ option }));
  });

  it.each([
    ['sessionTimeoutMs', 6],
    ['leaseMs', 2],
  ])('has no %s that was meant in seconds, and none that heartbeats can not keep', (option, given) => {
    const wrong = `${option} is ${given}: expected milliseconds, 100 or more; did you mean ${given}000, which is ${given} s?`;
    expect(() => session({ [option]: given })).toThrow(wrong);
    expect(() => session({ [option]: 99.9 })).toThrow(InvalidOptionError);
    expect(session({ [option]: 100 })).toMatchObject({ [option]: 100 });
  });

  it('lets no other client touch its nodes when it has credentials, unless its access option says otherwise', () => {
    expect(session({ auth: ALICE }).access).toBe('creator');
    expect(session({ auth: ALICE, access: 'world' }).access).toBe('world');
    expect(session({ access: 'creator' }).access).toBe('creator');
  });

  it('may be several at once, by whatever scheme', () => {
    const auth = [ALICE, { scheme: 'my-sasl_2', credentials: '' }];
    expect(session({ auth }).credentials.value).toEqual(auth);
    expect(session({ auth: { ...ALICE, note: 'mine' } }).credentials.value).toEqual([ALICE]);
  });

  it.each([
    { scheme: 'digest', credentials: 'alice' },
    { scheme: 'digest', credentials: 'alice:' },
    { scheme: 'digest', credentials: ':secret' },
    { scheme: 'digest', credentials: 7 },
    { scheme: '', credentials: 'alice:secret' },
    { scheme: 'di gest', credentials: 'alice:secret' },
    { scheme: 7, credentials: 'alice:secret' },
    { scheme: 'digest', credentials: ':secret:more' },
    { scheme: 'my-sasl', credentials: 7 },
    [ALICE, null],
  ])('is not to be known by %j', (auth) => {
    const wrong = { option: 'auth', value: '(not shown)' };
    expect(() => session({ auth })).toThrow(expect.objectContaining(wrong));
  });

  it.each(['\n', '\r\n', '\r'])(
    'has no password that ends with the line break %j of a file, and does not show it (the servers refused the password)',
    (lineBreak) => {
      const refused = () =>
        session({ auth: [ALICE, { scheme: 'digest', credentials: `alice:secret${lineBreak}` }] });
      expect(refused).toThrow('auth is (not shown): expected');
      expect(refused).toThrow('without a line break at the end');
      const inside = { scheme: 'digest', credentials: `alice:sec${lineBreak}ret` };
      expect(session({ auth: inside }).credentials.value).toEqual([inside]);
    },
  );

  it('takes only true or false for whether it may use paths that are open to all', () => {
    const wrong = { option: 'allowUnprotectedPaths', value: 'yes' };
    expect(() => session({ allowUnprotectedPaths: 'yes' })).toThrow(expect.objectContaining(wrong));
  });

  it.each(['clock', 'random', 'uuid', 'resolve', 'openSocket'] as const)(
    'is not an environment without %s',
    (part) => {
      expect(() => session({ environment: { ...systemEnvironment, [part]: undefined } })).toThrow(
        'environment',
      );
    },
  );

  it.each(['now', 'after'] as const)('is not an environment whose clock has no %s', (part) => {
    const { clock } = systemEnvironment;
    const broken = {
      now: () => clock.now(),
      date: () => clock.date(),
      after: clock.after,
      [part]: undefined,
    };
    expect(() => session({ environment: { ...systemEnvironment, clock: broken } })).toThrow('environment');
  });

  it('is TLS as Node has it, with keys and certificates that were read', () => {
    const { tls } = session({ tls: { servername: 'zk1', rejectUnauthorized: undefined } });
    expect(Object.keys(tls.value ?? {})).toEqual(['servername', 'secureContext']);
    const secureContext = createSecureContext();
    expect(session({ tls: { secureContext, checkServerIdentity: ignore } }).tls.value?.secureContext).toBe(
      secureContext,
    );
  });

  it.each([
    [null, "Node's options"],
    [true, "Node's options"],
    [[], "Node's options"],
    [{ host: 'zk1' }, 'options without host'],
    [{ port: 2281 }, 'options without port'],
    [{ path: '/run/zk' }, 'options without path'],
    [{ socket: {} }, 'options without socket'],
    [{ servername: '10.0.0.1' }, 'a name, not an address'],
    [{ servername: '::1' }, 'a name, not an address'],
    [{ checkServerIdentity: 'no' }, 'a function as checkServerIdentity'],
    [{ key: 'secret' }, 'keys and certificates that can be read'],
  ])('is not TLS with %j', (tls, expected) => {
    const wrong = { option: 'tls', value: '(not shown)', expected: expect.stringContaining(expected) };
    expect(() => session({ tls })).toThrow(expect.objectContaining(wrong));
    expect(() => session({ tls })).not.toThrow('secret');
  });
});

describe('what a candidate goes by', () => {
  const defaults = {
    data: undefined,
    lead: undefined,
    prepare: undefined,
    waitForPreparedMs: 0,
    takeoverDelayMs: undefined,
    onOverrun: 'report',
    watchdog: false,
    priority: 0,
    onRevoke: undefined,
  };
  const fakeSession = { environment: { uuid: () => '01234567-89ab-cdef' }, logger } as unknown as Session;

  it('is what the documentation says unless options say otherwise', () => {
    const id = `${hostname()}-${process.pid}-01234567`;
    expect(resolveElectorOptions(undefined, fakeSession)).toEqual({ ...defaults, id, logger });
  });

  it('is what the options say', () => {
    const given = {
      data: 'me',
      lead: ignore,
      prepare: ignore,
      waitForPreparedMs: 5000,
      takeoverDelayMs: 60_000,
      onOverrun: 'exit',
      watchdog: true,
      priority: 255,
      onRevoke: ignore,
    } as const;
    const resolved = resolveElectorOptions({ ...given, id: 'me', logger: console }, fakeSession);
    expect(resolved).toMatchObject({ ...given, id: 'me' });
    expect(resolved.logger).not.toBe(logger);
  });

  it("has the session's logger by default, and may be given what it does by default", () => {
    const own = { ...console };
    expect(resolveElectorOptions({}, { ...fakeSession, logger: own } as unknown as Session).logger).toBe(own);
    expect(resolveElectorOptions({ onOverrun: 'report' }, fakeSession).onOverrun).toBe('report');
  });

  it.each([
    ['id', ''],
    ['data', 7],
    ['lead', 'lead'],
    ['prepare', ignore], // Without `lead`.
    ['waitForPreparedMs', -1],
    ['takeoverDelayMs', -1],
    ['onOverrun', 'ignore'],
    ['watchdog', 'yes'],
    ['priority', 256],
    ['onRevoke', 7],
    ['logger', 7],
  ])('is refused by its name: %s %j', (option, value) => {
    expect(() => resolveElectorOptions({ [option]: value }, fakeSession)).toThrow(
      expect.objectContaining({ option, value }),
    );
  });

  it('is an object, with what is known in it only', () => {
    expect(() => resolveElectorOptions(7, fakeSession)).toThrow('elector is 7');
    expect(() => resolveElectorOptions({ prio: 7 }, fakeSession)).toThrow(
      'elector.prio is an unknown option',
    );
  });
});

describe('what a supervisor goes by', () => {
  it('is what the documentation says unless options say otherwise', () => {
    const { connect, ...resolved } = resolveSupervisorOptions(LEAST);
    expect(connect.value).toEqual({ servers: [{ host: 'zk1', port: 2181 }], chroot: '' });
    const retry = { minTimeout: 100, maxTimeout: 5000 };
    expect(resolved).toEqual({
      path: LEAST.path,
      id: expect.stringMatching(/^.+-\d+-[0-9a-f]{8}$/),
      environment: systemEnvironment,
      sessionOptions: { logger: resolved.logger },
      candidacy: {
        onOverrun: 'report',
        watchdog: false,
        priority: 0,
        waitForPreparedMs: 0,
      },
      cleanup: undefined,
      cleanupTimeoutMs: 30_000,
      cleanupRetry: { ...retry, retries: 4 },
      guardian: true,
      retry: { ...retry, retries: Number.POSITIVE_INFINITY },
      logger: resolved.logger,
    });
  });

  it('is what the options say, for its sessions too', () => {
    const given = { id: 'me', cleanup: ignore, cleanupTimeoutMs: 5, guardian: false };
    const resolved = resolveSupervisorOptions({
      ...LEAST,
      ...given,
      session: { leaseMs: 500 },
      retry: { retries: 2 },
      lead: ignore,
    });
    expect(resolved).toMatchObject({
      ...given,
      candidacy: { lead: ignore },
      sessionOptions: { leaseMs: 500 },
    });
    expect([resolved.retry.retries, resolved.cleanupRetry.retries]).toEqual([2, 2]);
  });

  it('with its own logger has no need of the level that the environment names', () => {
    vi.stubEnv('CONCLAVE_LOG_LEVEL', 'loud');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(() => resolveSupervisorOptions({ ...LEAST, logger: console })).not.toThrow();
    expect(() => resolveSupervisorOptions(LEAST)).toThrow('CONCLAVE_LOG_LEVEL is "loud"');
  });

  it('needs the path of its election', () => {
    const wrong = { option: 'supervisor', expected: 'an object with at least connect and path' };
    expect(() => resolveSupervisorOptions(undefined)).toThrow(expect.objectContaining(wrong));
    expect(() => resolveSupervisorOptions({ connect: 'zk1' })).toThrow(InvalidOptionError);
  });
});

describe('what an observer goes by', () => {
  it('is a source of sessions that others have, and nothing to close', async () => {
    const mine = Object.create(Session.prototype) as Session;
    const { signal } = new AbortController();
    const asked: unknown[] = [];
    const source = {
      session: async (given?: AbortSignal) => {
        asked.push(given);
        return mine;
      },
    };
    const resolved = resolveObserverOptions(source, {}, ignore);
    expect(await resolved.source.session(signal)).toBe(mine);
    expect(asked).toEqual([signal]);
    await expect(resolved.close()).resolves.toBeUndefined();
    await expect(resolved.source.session(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });

  it("is a session, with that session's logger unless it has its own, and nothing to close", async () => {
    const { said, log } = notingLoggers();
    const given: Session = Object.create(Session.prototype, { logger: { value: log('session') } });
    for (const options of [{}, { logger: log('own') }]) {
      const { source, logger, close } = resolveObserverOptions(given, options, ignore);
      expect(await source.session(new AbortController().signal)).toBe(given);
      await expect(close()).resolves.toBeUndefined();
      logger.info({}, 'a word');
    }
    expect(said).toEqual(['session', 'own']);
  });

  it('is a connect string, with sessions of its own, opened with its options, which it closes', async () => {
    const server = await EmbeddedZooKeeper.start({ logger: SILENT });
    onTestFinished(() => server.stop());
    const { source, close } = resolveObserverOptions(
      server.connectString,
      { session: { leaseMs: 1234 } },
      ignore,
    );
    const session = await source.session(new AbortController().signal);
    expect(session.leaseMs).toBe(1234);
    await close();
    expect(session.state.name).toBe('closed');
  });
});

it.each([
  ['a supervisor', (options: object) => resolveSupervisorOptions({ ...LEAST, ...options })],
  ['an observer', (options: object) => resolveObserverOptions('zk1', options, ignore)],
])('%s has its own logger, or else that of its sessions', (_, resolve) => {
  const { said, log } = notingLoggers();
  const session = { logger: log('session') };
  for (const options of [{ session }, { session, logger: log('own') }])
    resolve(options).logger.info({}, 'a word');
  expect(said).toEqual(['session', 'own']);
});
