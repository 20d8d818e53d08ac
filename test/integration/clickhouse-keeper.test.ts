/** What Conclave does on the embedded server that answers as ClickHouse Keeper. No real Keeper was tried. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { ConnectionLossError, NoNodeError, SessionExpiredError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { ignore } from '../../src/platform/async/promises.js';
import { connectSource } from '../../src/session/connection/server-list.js';
import { Session } from '../../src/session/session.js';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import { recordEvents } from '../support/events.js';
import { loggerOfWarnings } from '../support/recording-logger.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';

const PATH = '/keeper/election';
const SESSION_MS = 6000;

async function start() {
  const world = await startWithTestClock({ dialect: 'keeper' });
  const { warnings, logger } = loggerOfWarnings();
  const { environment } = world.clock;
  const session = { environment, sessionTimeoutMs: SESSION_MS, logger };
  const { connectString: connect } = world.server;
  const supervise = async (name: string, log: string[]) => {
    const supervisor = new ElectionSupervisor({
      ...{ connect, path: PATH, session, logger },
      lead: async (term) => {
        log.push(`${name} leads term ${term.number}`);
        await term.ended;
        log.push(`${name} ended`);
      },
    });
    onTestFinished(() => world.clock.advanceUntil(supervisor.stop()));
    await world.clock.advanceUntil(supervisor.start());
    return supervisor;
  };
  return { ...world, connect, session, warnings, supervise };
}

describe('on a server that answers as ClickHouse Keeper', () => {
  it('a leader hands over to the next candidate, and nothing is left behind', async () => {
    const { clock, server, supervise } = await start();
    const log: string[] = [];
    const first = await supervise('a', log);
    await clock.advanceUntil(() => log.length === 1);
    const second = await supervise('b', log);
    await clock.advance(2 * SESSION_MS);
    await clock.advanceUntil(first.stop());
    await clock.advanceUntil(() => log.length === 3);
    await clock.advanceUntil(second.stop());
    expect(log).toEqual(['a leads term 1', 'a ended', 'b leads term 2', 'b ended']);
    expect([server.sessions(), server.paths().filter((path) => path.startsWith(`${PATH}/`))]).toEqual([
      [],
      [],
    ]);
  });

  it('the next candidate replaces a leader whose connection breaks, and that one joins again with a new session', async () => {
    const { clock, server, supervise } = await start();
    const log: string[] = [];
    await supervise('a', log);
    await clock.advanceUntil(() => log.length === 1);
    await supervise('b', log);
    await clock.advance(1000);
    const [leader] = server.sessions();
    leader?.dropConnection();
    await clock.advanceUntil(() => log.length === 3);
    expect(log).toEqual(['a leads term 1', 'a ended', 'b leads term 2']);
    await clock.advance(2 * SESSION_MS);
    const queue = server.paths().filter((path) => path.startsWith(`${PATH}/`) && !path.includes('_h_'));
    expect([server.sessions().length, queue.length]).toEqual([2, 2]);
  });

  it('a session ends with its connection, and says so', async () => {
    const { clock, server, open, warnings, session: options } = await start();
    const session = await open(options);
    expect(warnings.filter((each) => each.includes('ClickHouse Keeper'))).toHaveLength(1);
    const ended: string[] = [];
    session.on('suspended', () => ended.push('suspended')).on('expired', () => ended.push('expired'));
    server.dropConnections();
    await clock.advanceUntil(() => ended.length > 0);
    expect(ended).toEqual(['expired']);
    expect(session.signal.reason).toBeInstanceOf(SessionExpiredError);
    expect(session.signal.reason.message).toContain('ClickHouse Keeper resumes no session');
    await clock.advance(2 * SESSION_MS);
    expect(server.sessions()).toEqual([]);
  });

  it('a connection that is lost before it serves costs no session: another one is opened (connect() rejected with SESSION_EXPIRED)', async () => {
    const { clock, server, session: options, connect, warnings } = await start();
    server.delay(60_000, { only: 'ping' }); // The ping by which a session asks whether the server takes operations.
    const opening = Session.connect(connect, options);
    opening.catch(ignore);
    await clock.advanceUntil(() => server.count('ping') === 1);
    server.dropConnections();
    server.clearFaults();
    const session = await clock.advanceUntil(opening);
    expect([session.state.name, server.sessions().length]).toEqual(['connected', 2]);
    const expired = recordEvents(session, 'expired');
    await clock.advance(2 * SESSION_MS); // No client can end the first session, so its timeout does.
    expect(server.sessions().map(({ id }) => id)).toEqual([session.credentials.id]);
    expect(warnings.filter((each) => each.includes('ClickHouse Keeper'))).toHaveLength(1);
    server.dropConnections(); // Of a session that was served.
    await clock.advanceUntil(() => expired.length === 1);
  });

  it('a session that another process has left behind is not replaced by a new one', async () => {
    const { clock, session: options, connect } = await start();
    const left = await Session.connect(connect, options);
    onTestFinished(() => clock.advanceUntil(left.close()));
    const taking = Session.takeOver(connectSource(connect), left.credentials, options);
    await expect(clock.advanceUntil(taking)).rejects.toBeInstanceOf(SessionExpiredError);
  });

  it('a session that is closed has ended, without another connection', async () => {
    const { clock, server, session: options, connect } = await start();
    const session = await Session.connect(connect, options);
    const before = server.count('connect');
    await clock.advanceUntil(session.close());
    expect([server.sessions(), server.count('connect') - before]).toEqual([[], 0]);
  });

  it('a watch that is no longer needed stays, and no connection is lost', async () => {
    const { clock, server, open, session: options } = await start();
    const session = await open(options);
    await session.create('/watched');
    const given = new AbortController();
    await session.getData('/watched', { onChange: ignore, signal: given.signal });
    given.abort();
    await session.setData('/watched', Buffer.from('new'));
    await clock.advance(1000);
    expect([session.state.name, server.count('removeWatches')]).toEqual(['connected', 0]);
  });

  it('several nodes are read one by one', async () => {
    const { server, open, session: options } = await start();
    const session = await open(options);
    await session.create('/one', { data: Buffer.from('1') });
    const [one, none] = await session.getDataOfEach(['/one', '/none']);
    expect(one).toMatchObject({ data: Buffer.from('1') });
    expect(none).toBeInstanceOf(NoNodeError);
    expect(server.count('multiRead')).toBe(0);
  });

  it('an error that leaves the outcome open counts as a lost reply, and ends the session', async () => {
    const { clock, server, open, session: options } = await start();
    const session = await open(options);
    server.failWith('OPERATION_TIMEOUT', { operation: 'setData', times: 1 });
    await session.create('/node');
    await expect(session.setData('/node', Buffer.from('new'))).rejects.toBeInstanceOf(ConnectionLossError);
    await clock.advanceUntil(() => session.state.name === 'expired');
  });

  it('a lock goes from one session to the next, whose session is kept by pings beside its reads', async () => {
    const { clock, server, open, session: options } = await start();
    const [first, second, third] = [await open(options), await open(options), await open(options)];
    const lock = (session: Session) => new DistributedLock(session, '/keeper/lock');
    const hold = await lock(first).acquire();
    const next = lock(second).acquire();
    const last = lock(third).acquire();
    await clock.advance(10 * SESSION_MS);
    expect(hold.isHeld()).toBe(true);
    expect(server.sessions()).toHaveLength(3);
    await hold.release();
    await (await clock.advanceUntil(next)).release();
    await (await clock.advanceUntil(last)).release();
  });

  it('shards move to the members that are left', async () => {
    const { clock, connect, session } = await start();
    const owned = new Map<string, Set<string>>();
    const join = async (id: string) => {
      const own = new Set<string>();
      owned.set(id, own);
      const supervisor = new ShardSupervisor({
        ...{ connect, session, id, path: '/keeper/shards', shards: 4 },
        run: async (shard) => {
          own.add(shard.id);
          await shard.ended;
          own.delete(shard.id);
        },
      });
      onTestFinished(() => clock.advanceUntil(supervisor.stop()));
      await clock.advanceUntil(supervisor.start());
      return supervisor;
    };
    const counts = () => [...owned.values()].map(({ size }) => size).join();
    const first = await join('a');
    await join('b');
    await clock.advanceUntil(() => counts() === '2,2');
    await clock.advanceUntil(first.stop());
    await clock.advanceUntil(() => counts() === '0,4');
  });
});
