import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { ElectionObserver } from '../../src/election/observer/election-observer.js';
import {
  ConnectionLossError,
  ConnectTimeoutError,
  InvalidOptionError,
  NoServerError,
} from '../../src/errors.js';
import { ShardObserver } from '../../src/index.js';
import { Overview } from '../../src/overview/overview.js';
import { ignore } from '../../src/platform/async/promises.js';
import { Session } from '../../src/session/session.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import { errorsOf, recordEvents } from '../support/events.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../support/silent-logger.mjs';

type Alice = { readonly scheme: 'digest'; readonly credentials: string };
const alice = (password = 'secret'): Alice => ({ scheme: 'digest', credentials: `alice:${password}` });
const pending = () => new Promise<never>(ignore);
const sealed = () => Promise.reject(new Error('the vault is sealed'));

/** A session with a function that gives its credentials, which `giveFromNowOn` replaces. `others` are servers that are not there. */
async function start({ others = '', ...options }: SessionOptions & { readonly others?: string } = {}) {
  const world = await startWithTestClock();
  let [give, calls] = [(): Alice | Promise<Alice> => alice(), 0];
  const auth = () => {
    calls++;
    return give();
  };
  const environment = { ...world.clock.environment, random: () => 1 - 1e-9 }; // The servers in their order.
  const session = await world.open({ auth, environment, ...options }, world.server.connectString + others);
  const errors = errorsOf(session);
  return {
    ...{ ...world, session, errors },
    calls: () => calls,
    giveFromNowOn: (next: typeof give) => {
      give = next;
    },
    /** Cuts the connection, and lets no other one come about. */
    cutOff: () => {
      world.server.refuse();
      world.server.dropConnections();
    },
  };
}

describe('a function that gives an option', () => {
  it('is called once for each search for a server', async () => {
    const { clock, server, session, calls } = await start();
    expect(calls()).toBe(1);
    for (const expected of [2, 3]) {
      const resumed = recordEvents(session, 'resumed');
      server.dropConnections();
      await clock.advanceUntil(() => resumed.length === 1);
      expect(calls()).toBe(expected);
    }
  });

  it('is called before each round of servers in an outage, about once a second', async () => {
    const { clock, server, calls, cutOff } = await start();
    cutOff();
    await clock.advance(10_000);
    const before = calls();
    await clock.advance(60_000);
    expect(calls() - before).toBeGreaterThan(50);
    expect(calls() - before).toBeLessThanOrEqual(60);
    server.admit();
  });

  it('gives one value for all servers of a round', async () => {
    const { clock, server, session, calls } = await start({ others: ',127.0.0.1:1,127.0.0.1:2' });
    await clock.advance(3000); // After that, a connection that is lost doesn't belong to its round any more.
    const resumed = recordEvents(session, 'resumed');
    server.dropConnections();
    await clock.advanceUntil(() => resumed.length === 1);
    expect(calls()).toBe(2);
  });

  it('is asked no second time while it has not answered, and the session says that it waits for it', async () => {
    const { clock, session, errors, calls, giveFromNowOn, server } = await start();
    let answer: (value: Alice) => void = ignore;
    giveFromNowOn(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    server.dropConnections();
    await clock.advance(5000);
    expect(calls()).toBe(2);
    expect(errors[0]).toBeInstanceOf(NoServerError);
    expect(errors[0]).toMatchObject({ address: 'session.auth()', cause: expect.any(ConnectTimeoutError) });
    expect(String(errors[0])).toContain('no answer from session.auth() within');
    expect(String(errors[0])).not.toContain('are the servers up'); // No server was asked.
    const { credentials } = session;
    const resumed = recordEvents(session, 'resumed');
    answer(alice());
    await clock.advanceUntil(() => resumed.length === 1);
    expect([session.credentials.id, calls()]).toEqual([credentials.id, 2]);
  });

  it('keeps no caller of close() waiting when it does not answer', async () => {
    const { clock, session, giveFromNowOn, server, calls } = await start();
    giveFromNowOn(pending);
    server.dropConnections();
    await clock.advanceUntil(() => calls() === 2);
    const closing = session.close();
    await clock.advance(2000);
    await closing;
  });

  it('is asked for a session that was closed without a connection, so that a server ends it', async () => {
    const { clock, server, session, calls, cutOff } = await start();
    cutOff();
    await clock.advanceUntil(() => session.state.name === 'suspended');
    const before = calls();
    const closing = session.close();
    server.admit();
    await clock.advanceUntil(closing);
    expect(calls()).toBeGreaterThan(before);
    expect(server.sessions()).toEqual([]);
  });

  it.each([
    ['rejects', sealed, 'the vault is sealed'],
    [
      'gives a wrong value',
      () => ({ scheme: 'digest', credentials: 'SECRET' }) as Alice,
      'session.auth() is (not shown)',
    ],
  ])(
    'leaves the session without a server when it %s later, until it gives a right one',
    async (_, fail, why) => {
      const { clock, server, session, errors, giveFromNowOn } = await start();
      const { id } = session.credentials;
      const resumed = recordEvents(session, 'resumed');
      giveFromNowOn(fail);
      server.dropConnections();
      await clock.advance(4000);
      expect(errors[0]).toBeInstanceOf(NoServerError);
      expect(errors[0]?.message).toContain(why);
      expect(errors[0]?.message).not.toContain('SECRET');
      giveFromNowOn(() => alice());
      await clock.advanceUntil(() => resumed.length === 1);
      expect(session.credentials.id).toBe(id);
    },
  );

  it('shows the servers the password that it gives at the time', async () => {
    const { clock, server, session, giveFromNowOn, open } = await start();
    const other = await open({ auth: alice('new') });
    await other.create('/of-new', { data: Buffer.from('x') });
    await expect(clock.advanceUntil(session.getData('/of-new'))).rejects.toMatchObject({ code: 'NO_AUTH' });
    giveFromNowOn(() => alice('new'));
    const resumed = recordEvents(session, 'resumed');
    server.dropConnections();
    await clock.advanceUntil(() => resumed.length === 1);
    expect((await clock.advanceUntil(session.getData('/of-new'))).data.toString()).toBe('x');
  });

  it.each([
    ['rejects', sealed, 'the vault is sealed'],
    [
      'throws',
      () => {
        throw new Error('no file');
      },
      'no file',
    ],
    ['never answers', pending, 'no answer from session.auth() within'],
  ])('is the cause of the time-out when it %s at the start', async (_, auth, why) => {
    const { clock, open } = await startWithTestClock();
    const opening = open({ auth: auth as () => Promise<Alice>, connectTimeoutMs: 3000 });
    opening.catch(ignore);
    await clock.advance(3500);
    await expect(opening).rejects.toBeInstanceOf(ConnectTimeoutError);
    await expect(opening).rejects.toThrow(why);
  });

  it('is not blamed for a server that accepts the session and then is silent: the time-out names that as its cause', async () => {
    const { clock, server, open } = await startWithTestClock();
    server.delay(60_000, { only: 'auth' });
    const opening = open({ auth: () => alice(), connectTimeoutMs: 5000 });
    opening.catch(ignore);
    await clock.advance(6000);
    await expect(opening).rejects.toMatchObject({
      name: 'ConnectTimeoutError',
      message: expect.stringContaining('no answer in time'),
      cause: expect.any(ConnectionLossError),
    });
  });

  it.each([
    ['session.auth()', { auth: () => [{ scheme: 7 }] }],
    ['session.auth()', { auth: () => undefined }],
    ['session.sasl()', { sasl: () => undefined }],
    ['session.sasl().password', { sasl: () => ({ username: 'alice', password: '' }) }],
    ['session.tls()', { tls: async () => ({ ca: 'no certificate', host: 'zk1' }) }],
    ['session.tls()', { tls: () => undefined }],
  ])('named %s is refused when its first value is wrong', async (option, options) => {
    const { open } = await startWithTestClock();
    const opening = open(options as unknown as SessionOptions);
    await expect(opening).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(opening).rejects.toMatchObject({ option, value: expect.anything() });
  });
});

describe('a function that gives the servers', () => {
  /** A session by such a function, which `giveFromNowOn` replaces. */
  async function startListed(chroot = '') {
    const world = await startWithTestClock();
    const listed = `${world.server.connectString}${chroot}`;
    let [give, calls] = [(): string | Promise<string> => listed, 0];
    const connect = () => {
      calls++;
      return give();
    };
    const logged: [object, string][] = [];
    const logger = { ...SILENT, warn: (...line: [object, string]) => void logged.push(line) };
    const session = await world.open({ logger }, connect);
    const giveFromNowOn = (next: typeof give) => {
      give = next;
    };
    return { ...world, session, giveFromNowOn, listed, logged, calls: () => calls };
  }

  it('also gives the chroot', async () => {
    const { session, server, clock } = await startListed('/app');
    await clock.advanceUntil(session.create('/node'));
    expect(server.paths('/')).toContain('/app/node');
    expect(session.ensemble.servers).toHaveLength(1);
  });

  it.each([
    ['rejects', sealed, 'the vault is sealed'],
    ['does not answer', pending, 'no answer from connect() within'],
    ['gives no string', () => 7 as unknown as string, 'connect() is 7'],
    ['gives another chroot', () => '127.0.0.1:1/other', 'connect() is "127.0.0.1:1/other"'],
  ])(
    'leaves the former list when it %s, and warns of that once (it was a line at the level debug)',
    async (_, give, why) => {
      const { clock, server, session, giveFromNowOn, calls, logged } = await startListed('/app');
      const resumed = recordEvents(session, 'resumed');
      giveFromNowOn(give);
      server.dropConnections();
      await clock.advanceUntil(() => resumed.length === 1);
      expect(calls()).toBe(2);
      server.dropConnections();
      await clock.advanceUntil(() => resumed.length === 2);
      const warnings = logged.filter(([, message]) => message.startsWith('connect()'));
      const err = expect.objectContaining({ message: expect.stringContaining(why) });
      expect(warnings).toEqual([[{ err }, 'connect() gave no servers']]);
    },
  );

  it("can be fed from the servers' own list, which can be read and watched below a chroot, and not be written", async () => {
    const { session, server, clock } = await startListed('/app');
    const path = '/zookeeper/config';
    const { data, stat } = await clock.advanceUntil(session.getData(path, { onChange: ignore }));
    expect(server.watchCount(path)).toBe(1);
    expect((await clock.advanceUntil(session.exists(path)))?.version).toBe(stat.version);
    await expect(session.setData(path, data)).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(session.getChildren(path)).rejects.toBeInstanceOf(InvalidOptionError);
  });

  it('leaves the present connection alone, and counts when that is lost', async () => {
    const { clock, server, session, giveFromNowOn, listed } = await startListed();
    const errors = errorsOf(session);
    giveFromNowOn(() => '127.0.0.1:1');
    await clock.advance(20_000);
    expect(session.state.name).toBe('connected');
    server.dropConnections();
    await clock.advanceUntil(() => errors.length > 0);
    expect(String(errors[0])).toContain('127.0.0.1:1');
    const resumed = recordEvents(session, 'resumed');
    giveFromNowOn(() => listed);
    await clock.advanceUntil(() => resumed.length === 1);
    expect(session.ensemble.servers).toHaveLength(1);
  });

  it('is refused when its first value is wrong, also by a supervisor and an observer, whose start rejects', async () => {
    const connect = () => 'zk1:port';
    const wrong = { option: 'connect()', value: 'zk1:port' };
    await expect(Session.connect(connect, { logger: SILENT })).rejects.toMatchObject(wrong);
    const supervisor = new ElectionSupervisor({ connect, path: '/election', logger: SILENT });
    await expect(supervisor.start()).rejects.toMatchObject(wrong);
    const observer = new ElectionObserver(connect, '/election', { logger: SILENT });
    await expect(observer.start()).rejects.toMatchObject(wrong);
  });

  it('serves supervisors, observers and overviews, of elections and of shards', async () => {
    const { clock, server } = await startWithTestClock();
    const connect = async () => server.connectString;
    const [session, logger] = [{ environment: clock.environment }, SILENT];
    const given = { connect, session, logger };
    const supervisor = new ElectionSupervisor({ ...given, path: '/election' });
    const observer = new ElectionObserver(connect, '/election', { session, logger });
    const run = async (shard: { readonly ended: Promise<unknown> }) => void (await shard.ended);
    const shards = new ShardSupervisor({ ...given, path: '/shards', shards: 2, run });
    const owners = new ShardObserver(connect, '/shards', { session, logger });
    const overview = new Overview(connect, { session, logger });
    const all = [supervisor, observer, shards, owners, overview];
    onTestFinished(() => clock.advanceUntil(Promise.all(all.map((each) => each.stop())).then(ignore)));
    await clock.advanceUntil(Promise.all([supervisor.start(), shards.start()]));
    await clock.advanceUntil(Promise.all([observer.start(), owners.start(), overview.start()]));
    await clock.advanceUntil(() => observer.leader !== undefined && shards.owned.size === 2);
  });
});
