import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ElectionSupervisor } from '../../../src/cluster/supervisor/election-supervisor.js';
import { LeaderElector } from '../../../src/election/leader-elector.js';
import { ElectionObserver } from '../../../src/election/observer/election-observer.js';
import { DistributedLock } from '../../../src/lock/distributed-lock.js';
import { checkPath, nearestName } from '../../../src/platform/checks.js';
import { resolveLogger } from '../../../src/platform/logging/logger.js';
import { resolveSessionOptions } from '../../../src/session/session-options.js';
import { refusal } from '../../support/refusal.js';

const logger = resolveLogger(undefined);
const session = (options: unknown) => resolveSessionOptions(options, logger);
const supervisor = (options: object) =>
  new ElectionSupervisor({ connect: 'localhost', path: '/a', ...options } as never);

/** What an error keeps of a value: of an object only words. */
const kept = (value: unknown) => (typeof value === 'object' && value !== null ? 'an object' : value);

describe('a wrong option is refused at once, by its name and value', () => {
  it.each([
    ['sessionTimeoutMs', 0],
    ['sessionTimeoutMs', -1],
    ['sessionTimeoutMs', Number.NaN],
    ['sessionTimeoutMs', Number.POSITIVE_INFINITY],
    ['sessionTimeoutMs', 1.5],
    ['sessionTimeoutMs', 2 ** 31],
    ['sessionTimeoutMs', '6000'],
    ['sessionTimeoutMs', null],
    ['leaseMs', 0],
    ['leaseMs', 6000],
    ['connectTimeoutMs', 0],
    ['connectTimeoutMs', null],
    ['signal', 'stop'],
    ['logger', {}],
    ['logger', null],
  ])('session: %s %j', (option, value) => {
    const call = option === 'logger' ? () => resolveLogger(value) : () => session({ [option]: value });
    expect(refusal(call)).toMatchObject({ option, value: kept(value), code: 'INVALID_OPTION' });
  });

  it.each([
    ['path', undefined],
    ['path', 'a'],
    ['path', '/'],
    ['path', '/a/'],
    ['path', '/a//b'],
    ['path', '/a/../b'],
    ['path', '/zookeeper/quota'],
    ['path', '/a\u0000'],
    ['path', '/\u{1f600}'],
    ['path', `/${'x'.repeat(5000)}`],
    ['connect', ''],
    ['id', ''],
    ['id', 'a\nb'],
    ['id', 7],
    ['data', 7],
    ['takeoverDelayMs', -1],
    ['takeoverDelayMs', null],
    ['onOverrun', 'ignore'],
    ['lead', 'lead'],
    ['cleanup', {}],
    ['cleanupTimeoutMs', 0],
    ['guardian', 'yes'],
    ['retry', 3],
    ['session', 7],
    ['session', null],
    ['logger', null],
    ['onOverrun', null],
    ['id', null],
    ['cleanup', null],
    ['retry', null],
  ])('supervisor: %s %j', (option, value) => {
    expect(refusal(() => supervisor({ [option]: value }))).toMatchObject({ option, value: kept(value) });
  });

  it('but not what a session takes, when it is given to a supervisor', () => {
    const session = { access: 'creator', allowUnprotectedPaths: true, tls: {}, auth: [], leaseMs: 500 };
    expect(() => supervisor({ session, priority: 3, watchdog: true, onRevoke: () => true })).not.toThrow();
  });

  it('also within the session options of a supervisor', () => {
    expect(refusal(() => supervisor({ session: { signal: AbortSignal.abort() } })).option).toBe(
      'session.signal',
    );
    expect(refusal(() => supervisor({ session: { logger: {} }, logger })).option).toBe('session.logger');
    expect(refusal(() => supervisor({ session: { environment: null } })).option).toBe('environment');
    expect(refusal(() => session({ environment: 5 })).option).toBe('environment');
  });

  it.each([undefined, null, {}, 'session'])('also %j for a session', (value) => {
    const wrong = { option: 'session', value: kept(value) };
    expect(refusal(() => new LeaderElector(value as never, '/a'))).toMatchObject(wrong);
    expect(refusal(() => new DistributedLock(value as never, '/a'))).toMatchObject(wrong);
  });

  it('also for an observer, which has session options with a connect string only', () => {
    const observer = (from: unknown, path: unknown, options?: unknown) =>
      refusal(() => new ElectionObserver(from as never, path as never, options as never));
    for (const from of [undefined, null, {}, 7])
      expect(observer(from, '/a')).toMatchObject({ option: 'session' });
    expect(observer('', '/a').option).toBe('connect');
    expect(observer('localhost', 'a').option).toBe('path');
    expect(observer('localhost', '/a', { sesion: {} }).option).toBe('observer.sesion');
    expect(observer('localhost', '/a', { logger: null }).option).toBe('logger');
    expect(observer('localhost', '/a', { session: null }).option).toBe('session');
    expect(observer('localhost', '/a', { session: { leaseMs: 0 } }).option).toBe('leaseMs');
    expect(observer('localhost', '/a', { session: { logger: {} }, logger }).option).toBe('session.logger');
    expect(observer('localhost', '/a', { session: { signal: AbortSignal.abort() } }).option).toBe(
      'session.signal',
    );
    const auth = { scheme: 'digest', credentials: 'user:secret' };
    const misplaced = observer(supervisor({}), '/a', { session: { auth } });
    expect(misplaced).toMatchObject({ option: 'observer.session', value: '(not shown)' });
    expect(misplaced.message).not.toContain('secret');
  });

  it('also one that does not exist: a misspelt option must not be ignored', () => {
    expect(refusal(() => supervisor({ takeoverDelay: 0 })).message).toContain('takeoverDelayMs');
    expect(refusal(() => session({ sessionTimeout: 3 })).option).toBe('session.sessionTimeout');
  });

  it.each<[string, object, string]>([
    ['session.leaseMs', { leaseMs: 500 }, 'supervisor.leaseMs'],
    ['session.auth', { auth: {} }, 'supervisor.auth'],
    ['session.sessionTimeoutMs', { sessionTimeoutMs: 1000 }, 'supervisor.sessionTimeoutMs'],
    ['session.sessionTimeoutMs', { sessionTimeout: 1000 }, 'supervisor.sessionTimeout'],
    ['retry.minTimeout', { minTimeout: 1000 }, 'supervisor.minTimeout'],
    ['supervisor.cleanup', { clenaup: () => 1 }, 'supervisor.clenaup'],
    ['supervisor.takeoverDelayMs', { takeoverDelay: 1000 }, 'supervisor.takeoverDelay'],
    ['session.auth', { session: { Auth: {} } }, 'session.Auth'],
  ])('which says that %s was probably meant', (meant, options, option) => {
    const error = refusal(() => supervisor(options));
    expect(error.option).toBe(option);
    expect(error.message).toMatch(`; did you mean ${meant}?`);
  });

  it('which says nothing of the kind if no name is near', () => {
    expect(refusal(() => supervisor({ colour: 'red' })).message).not.toContain('did you mean');
    expect(refusal(() => session({ ip: 1 })).message).not.toContain('did you mean');
    expect(refusal(() => supervisor({ signal: 1 })).message).not.toContain('session.signal');
  });

  it('also data over 16 KiB, counted in bytes', () => {
    expect(refusal(() => supervisor({ data: 'é'.repeat(8193) })).message).toContain('16386 bytes');
  });

  it('without ever showing credentials, wherever they were put', () => {
    for (const auth of [
      { scheme: 'digest', credentials: ':secret' },
      'user:secret',
      { scheme: 'user:secret' },
      null,
    ]) {
      expect(refusal(() => session({ auth })).message).not.toContain('secret');
    }
  });

  it('and what is right is accepted', () => {
    for (const path of [
      '/a/b-c_d.e é',
      '/a',
      '/zookeepers/z',
      '/a/zookeeper',
      '/_c_0-lock-0000000001',
      '/a..b',
    ])
      expect(checkPath('path', path)).toBe(path);
    expect(
      session({ sessionTimeoutMs: 3000, leaseMs: 2999, connectTimeoutMs: Number.POSITIVE_INFINITY }),
    ).toMatchObject({ leaseMs: 2999 });
  });
});

describe('the logger', () => {
  it('is refused when CONCLAVE_LOG_LEVEL names no level', () => {
    vi.stubEnv('CONCLAVE_LOG_LEVEL', 'loud');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(refusal(() => resolveLogger(undefined))).toMatchObject({ value: 'loud' });
  });

  it('may fail without harm', () => {
    const broken = () => {
      throw new Error('the disk is full');
    };
    const safe = resolveLogger({ debug: broken, info: broken, warn: broken, error: broken });
    expect(() => safe.error({}, 'something')).not.toThrow();
  });
});

const NAMES = ['connect', 'path', 'id', 'lead', 'leaseMs', 'session', 'sessionTimeoutMs', 'auth', 'tls'];

describe('the name that was probably meant', () => {
  it.each([
    ['Auth', 'auth'],
    ['auht', 'auth'],
    ['TLS', 'tls'],
    ['lease', 'leaseMs'],
    ['leaseMS', 'leaseMs'],
    ['conect', 'connect'],
    ['sess', 'session'],
    ['connects', 'connect'],
    ['sesion', 'session'],
    ['sessionTimeout', 'sessionTimeoutMs'],
    ['sesssionTimout', 'sessionTimeoutMs'],
    ['ip', undefined],
    ['', undefined],
    ['leader', undefined],
    ['credentials', undefined],
    ['x'.repeat(100_000), undefined],
  ])('by %.20s is %s', (given, meant) => {
    expect(nearestName(given, NAMES)).toBe(meant);
  });

  it('is the name itself, whatever else there is', () => {
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), fc.shuffledSubarray(NAMES), (name, others) => {
        expect(nearestName(name, [...others, name])).toBe(name);
      }),
    );
  });

  it('is one of the names, or none, for any text', () => {
    fc.assert(
      fc.property(fc.string(), (given) => {
        expect([...NAMES, undefined]).toContain(nearestName(given, NAMES));
      }),
    );
  });
});
