import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveDashboardOptions } from '../../src/dashboard/dashboard-options.js';
import {
  DistributedLock,
  ElectionObserver,
  ElectionSupervisor,
  InvalidOptionError,
  LeaderElector,
  Session,
  SessionGuardian,
  ShardObserver,
  ShardSupervisor,
  superviseCluster,
} from '../../src/index.js';
import { Overview } from '../../src/overview/overview.js';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { conclave } from '../support/conclave/command-line.js';
import { recordingLogger } from '../support/recording-logger.js';
import { endsWithTest } from '../support/vitest/test-end.js';

const SECRET = 'open-sesame';
const auth = { scheme: 'digest', credentials: `alice:${SECRET}` };
const right = { connect: '127.0.0.1:1', path: '/secrets' };

async function refusal(call: () => unknown): Promise<InvalidOptionError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof InvalidOptionError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** All that a log, a console or a debugger could show of a value. */
function everythingOf(value: object): string {
  const all = { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true };
  return [inspect(value), inspect(value, all), JSON.stringify(value), String(value)].join('\n');
}

describe('a secret is not in the error', () => {
  it.each<[string, () => unknown]>([
    ['a misspelt auth', () => Session.connect('127.0.0.1:1', { Auth: auth } as never)],
    ['a misspelt tls', () => Session.connect('127.0.0.1:1', { TLS: { key: SECRET } } as never)],
    ['credentials without auth', () => Session.connect('127.0.0.1:1', { credentials: SECRET } as never)],
    ['credentials in place of the options', () => Session.connect('127.0.0.1:1', `alice:${SECRET}` as never)],
    ['options in a list', () => Session.connect('127.0.0.1:1', [{ auth }] as never)],
    ['options in place of the servers', () => Session.connect({ connect: 'zk', auth } as never)],
    [
      'a wrong auth',
      () => Session.connect('127.0.0.1:1', { auth: { user: 'alice', password: SECRET } as never }),
    ],
    [
      'ticket keys of another type',
      () => Session.connect('127.0.0.1:1', { tls: { ticketKeys: SECRET as never } }),
    ],
    ['a curve that does not exist', () => Session.connect('127.0.0.1:1', { tls: { ecdhCurve: SECRET } })],
    [
      'a password in an access list',
      () =>
        Session.connect('127.0.0.1:1', {
          access: [{ scheme: 'digest', id: `alice:${SECRET}`, permissions: 64 }],
        }),
    ],
    ['an auth beside the session of a supervisor', () => new ElectionSupervisor({ ...right, auth } as never)],
    [
      'a misspelt auth of a supervisor',
      () => new ElectionSupervisor({ ...right, session: { Auth: auth } } as never),
    ],
    ['a misspelt auth of members', () => new ShardSupervisor({ ...right, session: { auht: auth } } as never)],
    ['an auth beside the session of a guardian', () => new SessionGuardian({ connect: 'zk', auth } as never)],
    [
      'a misspelt session of a cluster',
      () => superviseCluster({ connect: 'zk', workers: 1, sesion: { auth } } as never),
    ],
    [
      'options in place of a session',
      () => new LeaderElector({ ...right, session: { auth } } as never, '/a'),
    ],
    ['options in place of the session of a lock', () => new DistributedLock({ auth } as never, '/a')],
    [
      'options in place of the source of an observer',
      () => new ElectionObserver({ connect: 'zk', auth } as never, '/a'),
    ],
    ['an auth beside the session of an observer', () => new ShardObserver('zk', '/a', { auth } as never)],
    ['an auth beside the session of an overview', () => new Overview('zk', { auth } as never)],
    ['a token in place of authorize', () => resolveDashboardOptions({ connect: 'zk', authorize: SECRET })],
    ['a misspelt token', () => resolveDashboardOptions({ connect: 'zk', authorise: SECRET })],
    [
      'a logger with the headers that it sends',
      () => new ElectionSupervisor({ ...right, logger: { headers: { authorization: SECRET } } } as never),
    ],
  ])('about %s', async (_, call) => {
    const error = await refusal(call);
    expect(everythingOf(error)).not.toContain(SECRET);
    expect(error.message).toMatch(/ is .+: expected ./);
  });

  it.each([
    ['--atuh', [`--atuh=digest:alice:${SECRET}`]],
    ['-a', [`-adigest:alice:${SECRET}`]],
    ['--atuh', [`--atuh=digest:alice:'${SECRET}'\n${SECRET}`]],
    ['--auth', ['--auth', SECRET]],
  ])('of a command with %s', async (option, words) => {
    const { exitCode, stderr } = await conclave('status', '/a', ...words);
    expect(exitCode).toBe(64);
    expect(stderr).toContain(option);
    expect(stderr).not.toContain(SECRET);
  });
});

it('credentials are not shown by any object that was made with them, nor by its errors and logs', async () => {
  const server = endsWithTest(await EmbeddedZooKeeper.start());
  const { lines, logger } = recordingLogger();
  const session = { auth, logger };
  const open = endsWithTest(await Session.connect(server.connectString, session));
  const connect = server.connectString;
  const supervisor = new ElectionSupervisor({ connect, path: '/a', session });
  const shards = new ShardSupervisor({ connect, path: '/s', shards: 1, session, logger });
  const guardian = new SessionGuardian({ connect, session: { auth }, logger });
  const observer = new ElectionObserver(connect, '/a', { session });
  const overview = new Overview(connect, { session });
  const all = [open, supervisor, shards, guardian, observer, overview];
  onTestFinished(() => guardian.close());
  for (const each of [supervisor, shards, observer, overview]) {
    await each.start();
    onTestFinished(() => each.stop());
  }
  for (const each of all) expect(inspect(each, { depth: Number.POSITIVE_INFINITY })).not.toContain(SECRET);
  expect(lines.length).toBeGreaterThan(0);
  expect(JSON.stringify(lines)).not.toContain(SECRET);
});
