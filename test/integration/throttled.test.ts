/** A server that has too many requests to do refuses some with THROTTLED_OP. It has carried none of these out, and the refusal passes. */
import { describe, expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import type { Term } from '../../src/election/term/term.js';
import { SessionClosedError, ZooKeeperError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { Session } from '../../src/session/session.js';
import { PATHS } from '../support/conclave/group-members.js';
import { setUpOwners } from '../support/conclave/shard-owners.js';
import { eventAfter, nextEvent, recordEvents } from '../support/events.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';

const TIMES = { sessionTimeoutMs: 9000, leaseMs: 3000 };
const FEW = 2; // How often a request is throttled.
const ALWAYS = 1_000_000;

async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const session = await open(TIMES);
  const events = recordEvents(session, 'suspended', 'resumed', 'expired', 'closed');
  const throttle = (operation: Parameters<typeof server.count>[0], times = FEW) =>
    server.failWith('THROTTLED_OP', { ...(operation !== undefined && { operation }), times });
  return { clock, server, open, session, events, throttle };
}

describe('a throttled request', () => {
  it('is refused with an error that says that it may be repeated, after a pause', async () => {
    const { clock, session, throttle } = await setUp();
    throttle('getData', 1);
    const beganAt = clock.environment.clock.now();
    const refused = session.getData('/').catch((error: unknown) => error);
    const error = await clock.advanceUntil(refused);
    expect(error).toBeInstanceOf(ZooKeeperError);
    expect(error).toMatchObject({ code: 'THROTTLED_OP', serverCode: -127, retryable: true });
    const tookMs = clock.environment.clock.now() - beganAt;
    expect(tookMs).toBeGreaterThanOrEqual(100);
    expect(tookMs).toBeLessThan(300);
    await session.getData('/');
  });

  it('settles when the session is closed during that pause', async () => {
    const { session, server, throttle, clock } = await setUp();
    const fault = throttle('getData');
    const refused = session.getData('/').catch((error: unknown) => error);
    while (fault.hits === 0) await new Promise((resolve) => setImmediate(resolve));
    await session.exists('/'); // Its answer comes behind that of the throttled request.
    server.clearFaults();
    await clock.advanceUntil(session.close());
    expect(await refused).toBeInstanceOf(SessionClosedError);
  });

  it('that is repeated until it is answered is repeated with pauses, not at once', async () => {
    const { clock, session, server, throttle } = await setUp();
    throttle('getData', ALWAYS);
    server.resetCounts();
    const controller = new AbortController();
    const reading = session
      .retryUntilAnswered(() => session.getData('/'), controller.signal)
      .catch((error: unknown) => error);
    await clock.advance(2000);
    expect(server.count('getData')).toBeGreaterThan(5);
    expect(server.count('getData')).toBeLessThan(25);
    controller.abort();
    await reading;
  });
});

describe('a session whose heartbeats are throttled', () => {
  it('keeps its connection and what it holds, and sends the next heartbeats in their turn', async () => {
    const { clock, session, server, events, throttle } = await setUp();
    const hold = await clock.advanceUntil(new DistributedLock(session, '/locks/one').acquire());
    await clock.advance(TIMES.leaseMs);
    server.resetCounts();
    const fault = throttle('multi', FEW);
    await clock.advance(TIMES.leaseMs);
    expect(fault.hits).toBe(FEW);
    expect(server.count('multi')).toBeLessThan(6);
    expect(hold.isHeld()).toBe(true);
    await clock.advance(TIMES.leaseMs);
    expect(hold.isHeld()).toBe(true);
    expect(events).toEqual([]);
    await clock.advanceUntil(hold.release());
  });

  it('keeps its connection when its pings are throttled', async () => {
    const { clock, events, throttle } = await setUp();
    const fault = throttle('ping');
    await clock.advance(4 * TIMES.sessionTimeoutMs);
    expect(fault.hits).toBe(FEW);
    expect(events).toEqual([]);
  });

  it('does not count a heartbeat that was throttled as a proof: what it holds ends with the lease', async () => {
    const { clock, session, server, events, throttle } = await setUp();
    const hold = await clock.advanceUntil(new DistributedLock(session, '/locks/one').acquire());
    throttle('multi', ALWAYS);
    await clock.advance(TIMES.leaseMs + 1);
    expect(hold.isHeld()).toBe(false);
    expect(events).toEqual([]);
    server.clearFaults();
  });
});

describe('watches that are throttled', () => {
  it('are set again after a lost connection, as soon as the server takes them', async () => {
    const { clock, session, open, server, throttle } = await setUp();
    await session.create('/watched');
    const changes: string[] = [];
    await session.getData('/watched', { onChange: (change) => void changes.push(change) });
    const resumed = nextEvent(session, 'resumed');
    throttle('setWatches');
    server.dropConnections();
    await clock.advanceUntil(resumed);
    await clock.advance(1000);
    const other = await open(TIMES);
    await other.setData('/watched', Buffer.from('new'));
    await clock.advance(100);
    expect(changes).toEqual(['changed']);
  });

  it('tell of a creation all the same', async () => {
    const { clock, session, throttle } = await setUp();
    throttle('exists');
    const created: string[] = [];
    const unwatch = session.watchCreation('/coming', () => created.push('created'));
    await clock.advance(1000);
    await session.create('/coming');
    await clock.advance(100);
    expect(created).toEqual(['created']);
    unwatch();
  });
});

describe('a contender whose requests are throttled', () => {
  const OPERATIONS = ['create', 'multi', 'getChildren', 'getData', 'exists', 'delete', 'setData'] as const;

  async function electors(session: Session, other: Session) {
    const one = new LeaderElector(session, '/elections/one', { id: 'one' });
    const two = new LeaderElector(other, '/elections/one', { id: 'two' });
    const errors: unknown[] = [];
    for (const each of [one, two]) each.on('error', (error) => errors.push(error));
    return { one, two, errors };
  }

  it.each(OPERATIONS)('by %s joins, leads and hands over, without an error', async (operation) => {
    const { clock, session, open, events, throttle } = await setUp();
    const { one, two, errors } = await electors(session, await open(TIMES));
    throttle(operation);
    await clock.advanceUntil(eventAfter<[Term]>(one, 'elected', () => one.start()));
    throttle(operation);
    await clock.advanceUntil(two.start());
    throttle(operation);
    const [term] = await clock.advanceUntil(eventAfter<[Term]>(two, 'elected', () => one.stop()));
    expect(term.number).toBe(2);
    throttle(operation);
    await clock.advanceUntil(two.stop());
    expect([errors, events]).toEqual([[], []]);
  });

  it.each(OPERATIONS)('by %s takes a lock and gives it back', async (operation) => {
    const { clock, session, server, events, throttle } = await setUp();
    throttle(operation);
    const hold = await clock.advanceUntil(new DistributedLock(session, '/locks/one').acquire());
    throttle(operation);
    await clock.advanceUntil(hold.release());
    await clock.advance(1000);
    expect(server.paths('/locks/one')).toEqual(['/locks/one']);
    expect(events).toEqual([]);
  });

  it('repeats its join with pauses', async () => {
    const { clock, session, server, throttle } = await setUp();
    await session.ensurePath('/locks/one');
    throttle('create', ALWAYS);
    server.resetCounts();
    const acquiring = new DistributedLock(session, '/locks/one')
      .acquire({ timeoutMs: 2000 })
      .catch((error: unknown) => error);
    await clock.advance(2000);
    expect(server.count('create')).toBeGreaterThan(5);
    expect(server.count('create')).toBeLessThan(25);
    server.clearFaults();
    await clock.advanceUntil(acquiring);
  });
});

it('a shard of another member whose record could not be read once is claimed all the same when its owner has left', async () => {
  const { clock, server, join } = await setUpOwners();
  const [owner, waiting] = [await join('owner'), await join('waiting')];
  owner.owner.follow(['0']);
  await clock.advance(100);
  const fault = server.failWith('SYSTEM_ERROR', {
    operation: 'getData',
    path: PATHS.recordOf('0'),
    times: 1,
  });
  waiting.owner.follow(['0']);
  await clock.advance(100);
  expect(fault.hits).toBe(1);
  owner.owner.follow([]);
  await clock.advance(5000);
  expect(waiting.told).toEqual(['acquired 0']);
});
