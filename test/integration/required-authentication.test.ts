/** Servers that demand that their clients authenticate: `enforce.auth.schemes` and `sessionRequireClientSASLAuth`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { ElectionObserver } from '../../src/election/observer/election-observer.js';
import { AuthenticationError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { Session } from '../../src/session/session.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { conclave } from '../support/conclave/command-line.js';
import { RunningCommand } from '../support/conclave/running-command.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { errorsOf, eventAfter, nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

const auth = { scheme: 'digest', credentials: 'alice:secret' } as const;
const ADVICE =
  /the servers require authentication \(SESSION_CLOSED_REQUIRE_SASL_AUTH, -124\): give session\.sasl/;

let digest: string; // Demands credentials of the scheme digest.
let sasl: string; // Demands SASL.
const stops: (() => Promise<unknown>)[] = [];

async function start(settings: Record<string, string>): Promise<string> {
  const { connectString, stop } = await startZooKeeper({ settings });
  stops.push(stop);
  return connectString;
}

beforeAll(async () => {
  [digest, sasl] = await Promise.all([
    start({ 'enforce.auth.enabled': 'true', 'enforce.auth.schemes': 'digest' }),
    start({
      'authProvider.sasl': 'org.apache.zookeeper.server.auth.SASLAuthenticationProvider',
      sessionRequireClientSASLAuth: 'true',
    }),
  ]);
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

describe.each([
  ['credentials', () => digest],
  ['SASL', () => sasl],
])('servers that demand %s', (_, servers) => {
  it('refuse a session at once with an error that says what to set', async () => {
    const connecting = Session.connect(servers(), { logger: SILENT });
    await expect(connecting).rejects.toBeInstanceOf(AuthenticationError);
    await expect(connecting).rejects.toThrow(ADVICE);
  });

  it('end a supervisor for good, as refused credentials do, and it says why once', async () => {
    const supervisor = new ElectionSupervisor({ connect: servers(), path: '/elections/one', logger: SILENT });
    const errors = errorsOf(supervisor);
    const stopped = nextEvent(supervisor, 'stopped');
    await expect(supervisor.start()).rejects.toBeInstanceOf(AuthenticationError);
    await stopped;
    expect(errors.map(String)).toEqual([expect.stringMatching(/^AuthenticationError: /)]);
  });

  it('end an observer', async () => {
    const observer = new ElectionObserver(servers(), '/elections/one', { logger: SILENT });
    await expect(observer.start()).rejects.toBeInstanceOf(AuthenticationError);
  });

  it.each([
    ['status', '/elections/one'],
    ['status', '--root', '/'],
    ['status'],
    ['status', '/elections/one', '--watch'],
    ['resign', '/elections/one'],
    ['prune', '/', '--yes'],
    ['shards', 'status', '/shards/one'],
  ])('make conclave %s %s exit with 77, and say what to set', async (...words) => {
    const { exitCode, stderr } = await conclave(...words, '--connect', servers());
    expect(stderr).toMatch(ADVICE);
    expect(exitCode).toBe(77);
  });

  it('make conclave run exit with 77, and say what to set', async () => {
    const run = new RunningCommand(['run', '/elections/one', '--', 'true'], { connect: servers() });
    expect(await run.exit()).toBe(77);
    expect(run.stderr).toMatch(ADVICE);
  });
});

describe('a session with the credentials that the servers demand', () => {
  it('holds a lock, also over another connection', async () => {
    const proxy = await startProxy(digest);
    const session = await openSession({ auth }, proxy.connectString);
    const hold = await new DistributedLock(session, uniquePath('lock')).acquire();
    await eventAfter(session, 'resumed', () => proxy.dropConnections());
    expect((await session.getData(hold.path)).stat.version).toBe(0);
    expect(hold.isHeld()).toBe(true);
    await hold.release();
  });

  it('is closed at the servers although it has no connection when it is closed', async () => {
    const proxy = await startProxy(digest);
    const session = await openSession({ auth, sessionTimeoutMs: 20_000 }, proxy.connectString);
    const path = uniquePath('mine');
    await session.create(path, { mode: 'ephemeral' });
    await eventAfter(session, 'suspended', () => proxy.dropConnections());
    await session.close();
    const other = await openSession({ auth }, digest);
    await until(async () => (await other.exists(path)) === undefined, 'the end of the node');
  });
});
