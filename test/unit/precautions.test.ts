import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import type { LeaderElectorOptions } from '../../src/election/elector-options.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import type { Term } from '../../src/election/term/term.js';
import { NodeLostError, SessionClosedError, SessionExpiredError } from '../../src/errors.js';
import { LockNode } from '../../src/lease/own-node.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { ignore } from '../../src/platform/async/promises.js';
import { sleep } from '../../src/platform/time/clock.js';
import { joinQueue } from '../../src/queue/join-queue.js';
import { Session } from '../../src/session/session.js';
import { nextEvent, recordEvents } from '../../src/testing/index.js';
import { enqueue } from '../support/conclave/enqueue.js';
import { aborted } from '../support/events.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../support/silent-logger.mjs';
import { startFakeServer } from '../support/wire/start-fake-server.js';

// Each precaution of the recipe in the situation that it serves, on a clock that only the test moves.

const SESSION_TIMEOUT_MS = 6000;
const LEASE_MS = SESSION_TIMEOUT_MS / 3;
const UUID = '01234567-89ab-4def-8123-456789abcdef';

async function startServer() {
  const { clock, server, open: openWith } = await startWithTestClock();
  const open = () => openWith({ sessionTimeoutMs: SESSION_TIMEOUT_MS });
  const join = async (session: Session, options: LeaderElectorOptions = {}) => {
    const elector = new LeaderElector(session, '/election', options);
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    await clock.advanceUntil(elector.start());
    return elector;
  };
  const lead = async (session: Session, options?: LeaderElectorOptions): Promise<[LeaderElector, Term]> => {
    const elector = await join(session, options);
    return [elector, await clock.advanceUntil(() => elector.term as Term)];
  };
  return { clock, server, open, join, lead };
}

describe('a create whose reply is lost', () => {
  it('has left one node, and the caller holds by that, instead of waiting behind itself', async () => {
    const { clock, server, open } = await startServer();
    const session = await open();
    await session.create('/lock'); // Otherwise the servers would refuse the first create.
    const lost = server.swallowReply('create', { path: /-lock-/ });
    const acquiring = new DistributedLock(session, '/lock').acquire({ timeoutMs: 10_000 });
    const hold = await clock.advanceUntil(acquiring);
    expect(lost.hits).toBe(1);
    expect(server.paths('/lock')).toEqual(['/lock', hold.path]);
  });

  it('has not made the node of another contender of the same session its own', async () => {
    const { clock, server, open } = await startServer();
    const session = await open();
    const first = await clock.advanceUntil(new DistributedLock(session, '/lock').acquire());
    const lost = server.swallowReply('create', { path: /-lock-/ });
    const { hold, held } = await clock.advanceUntil(enqueue(new DistributedLock(session, '/lock')));
    expect(lost.hits).toBe(1);
    await clock.advance(10_000);
    expect(held()).toBe(false);
    await clock.advanceUntil(first.release());
    expect((await clock.advanceUntil(hold)).path).not.toBe(first.path);
  });

  it('has not made the node of a former session its own, which has the same name but for the number', async () => {
    const { clock, server, open } = await startServer();
    const ghost = await clock.advanceUntil(joinQueue(await open(), '/lock', { id: UUID }));
    const session = await open();
    server.partition(); // The create never arrives, so any node with that name is the former session's.
    const joining = joinQueue(session, '/lock', { id: UUID });
    await clock.advance(100);
    server.heal();
    const contender = await clock.advanceUntil(joining);
    expect(server.count('connect')).toBe(3);
    expect(contender.node.path).not.toBe(ghost.node.path);
  });
});

describe('a node of another session', () => {
  it('is nothing to hold by, whatever its path', async () => {
    const { clock, open } = await startServer();
    const [other, session] = [await open(), await open()];
    await other.create('/mine', { mode: 'ephemeral' });
    const own = LockNode.of(session, '/mine');
    own.watch();
    await clock.advance(1000);
    expect(own.signal.reason).toBeInstanceOf(NodeLostError);
  });
});

describe('a lease', () => {
  it('counts from when the proof was sent, however late the reply comes', async () => {
    const { clock, server, open } = await startServer();
    const session = await open();
    await session.create('/mine', { mode: 'ephemeral' });
    const own = LockNode.of(session, '/mine');
    server.delay(900, { only: 'multi' });
    await clock.advanceUntil(own.renew());
    expect(own.remainingMs()).toBe(LEASE_MS - 900);
  });

  it('is over when the server answers pings, and no write any more', async () => {
    const { clock, server, open, lead } = await startServer();
    const [, term] = await lead(await open());
    await clock.advance(10_000);
    server.delay(60_000, { only: 'multi' });
    await clock.advance(LEASE_MS);
    expect(term.isHeld()).toBe(false);
  });

  it('is over when a process goes on that has been stopped, before any event has reported it', async () => {
    const { clock, open, lead } = await startServer();
    const [, term] = await lead(await open());
    clock.jump(LEASE_MS);
    expect(term.isHeld()).toBe(false);
  });

  it('does not get longer when a reconnect is granted a longer session timeout', async () => {
    const server = await startFakeServer({
      handshake: (connection) => (connection === 1 ? 300 : 3000),
      answer: () => undefined,
    });
    const session = await Session.connect(server.connectString, { sessionTimeoutMs: 3000, logger: SILENT });
    onTestFinished(() => session.close({ timeoutMs: 0 }));
    expect(session.leaseMs).toBe(100);
    await nextEvent(session, 'resumed'); // The server never answers, so the session takes the link for dead.
    expect(session.sessionTimeoutMs).toBe(3000);
    expect(session.leaseMs).toBe(100);
  });
});

describe('a leader whose node the servers have given away', () => {
  it('is not succeeded as long as its own lease lasts, though it has not heard of it', async () => {
    const { clock, server, open, join, lead } = await startServer();
    const [, term] = await lead(await open());
    const successor = await join(await open());
    await clock.advance(10_000);
    const [former] = server.sessions();
    former?.partition();
    former?.expire();
    expect(term.isHeld()).toBe(true);
    await clock.advanceUntil(() => successor.term);
    expect(term.isHeld()).toBe(false);
  });
});

describe('a token', () => {
  const expectRising = ([one, two, three]: readonly bigint[]) => {
    expect(two).toBeGreaterThan(one as bigint);
    expect(three).toBeGreaterThan(two as bigint);
  };

  it('rises from hold to hold, also when the lock was deleted in between', async () => {
    const { clock, open } = await startServer();
    const session = await open();
    const tokens: bigint[] = [];
    for (let round = 0; round < 3; round++) {
      const hold = await clock.advanceUntil(new DistributedLock(session, '/lock').acquire());
      tokens.push(hold.token);
      await clock.advanceUntil(hold.release());
      await session.remove('/lock');
    }
    expectRising(tokens);
  });

  it('rises from term to term, also when the election was deleted in between', async () => {
    const { clock, open, lead } = await startServer();
    const session = await open();
    const tokens: bigint[] = [];
    for (let round = 0; round < 3; round++) {
      const [elector, term] = await lead(session);
      tokens.push(term.token);
      await clock.advanceUntil(elector.stop());
      await session.remove('/election');
    }
    expectRising(tokens);
  });
});

describe('a session that comes back', () => {
  it('in time has the places that it had, and no others', async () => {
    const { clock, server, open } = await startServer();
    const session = await open();
    const hold = await clock.advanceUntil(new DistributedLock(session, '/lock').acquire());
    const events = recordEvents(session, 'suspended', 'resumed');
    server.dropConnections();
    await clock.advance(1000);
    expect(events).toEqual(['suspended', 'resumed']);
    expect(hold.isHeld()).toBe(true);
    expect(server.paths('/lock')).toEqual(['/lock', hold.path]);
  });

  it('too late is over, with all that was held by it, and is not begun anew behind its holders', async () => {
    const { clock, server, open } = await startServer();
    const session = await open();
    const hold = await clock.advanceUntil(new DistributedLock(session, '/lock').acquire());
    server.expireSession(() => true);
    await clock.advance(1000);
    expect(session.signal.reason).toBeInstanceOf(SessionExpiredError);
    expect(hold.isHeld()).toBe(false);
    expect(server.sessions()).toEqual([]);
  });
});

describe('the end of a term', () => {
  it('is known to no other candidate before the work of the term has settled', async () => {
    const { clock, open, join, lead } = await startServer();
    const steps: string[] = [];
    const session = await open();
    const [elector] = await lead(session, {
      lead: async ({ signal }) => {
        await aborted(signal);
        await sleep(clock, 5000);
        steps.push('settled');
      },
    });
    const successor = await join(await open());
    successor.on('elected', () => void steps.push('elected'));
    void elector.stop();
    await clock.advanceUntil(() => successor.term);
    expect(steps).toEqual(['settled', 'elected']);
  });

  it('is reported by its signal before it is reported by an event', async () => {
    const { clock, open, lead } = await startServer();
    const [elector] = await lead(await open());
    const seen: boolean[] = [];
    elector.on('demoted', (term) => void seen.push(term.signal.aborted, term.isHeld()));
    await clock.advanceUntil(elector.stop());
    expect(seen).toEqual([true, false]);
  });
});

describe('the clean-up hook', () => {
  it('has come to its end before its process joins the election again', async () => {
    const { clock, server } = await startServer();
    const sessions: number[] = [];
    const supervisor = new ElectionSupervisor({
      connect: server.connectString,
      path: '/election',
      session: { sessionTimeoutMs: SESSION_TIMEOUT_MS, environment: clock.environment },
      cleanup: async () => {
        await sleep(clock, 5000);
        sessions.push(server.sessions().length);
      },
    });
    onTestFinished(() => clock.advanceUntil(supervisor.stop()));
    await clock.advanceUntil(supervisor.start());
    const events = recordEvents(supervisor, 'cleaned', 'restarting');
    const again = nextEvent(supervisor, 'elected');
    server.expireSession(() => true);
    await clock.advanceUntil(again);
    await clock.advance(5000);
    expect(events).toEqual(['cleaned', 'restarting']);
    expect(sessions).toEqual([0]);
  });
});

describe('the end of the one ahead', () => {
  it('is not the turn of the one behind it while another contender is left ahead', async () => {
    const { clock, open } = await startServer();
    const [first, second, third] = [await open(), await open(), await open()];
    const hold = await clock.advanceUntil(new DistributedLock(first, '/lock').acquire());
    const givingUp = await clock.advanceUntil(enqueue(new DistributedLock(second, '/lock')));
    const waiting = await clock.advanceUntil(enqueue(new DistributedLock(third, '/lock')));
    const gone = expect(givingUp.hold).rejects.toBeInstanceOf(SessionClosedError);
    await clock.advanceUntil(second.close());
    await gone;
    await clock.advance(1000);
    expect(waiting.held()).toBe(false);
    await clock.advanceUntil(hold.release());
    await clock.advanceUntil(waiting.hold);
  });

  it('is not the turn of the one behind it when it is read after the queue was listed, and another is left ahead', async () => {
    const { clock, server, open } = await startServer();
    const [first, second, third, fourth] = [await open(), await open(), await open(), await open()];
    await clock.advanceUntil(new DistributedLock(first, '/lock').acquire());
    (await clock.advanceUntil(enqueue(new DistributedLock(second, '/lock')))).hold.catch(ignore);
    const leaving = new AbortController();
    const ahead = new DistributedLock(third, '/lock').acquire({ signal: leaving.signal });
    await clock.advance(0);
    const { held } = await clock.advanceUntil(enqueue(new DistributedLock(fourth, '/lock')));
    const [, , unwatched, watched] = server.paths('/lock') as [string, string, string, string];
    // The fourth learns by a probe that the second is gone, and lists the queue. Only then it is notified that the third's data have
    // changed. By then the third has left, which the listing shows, and the read after the change, too.
    const probe = server.delay(500, { only: 'exists', path: unwatched });
    server.delay(600, { only: 'getData', path: '/lock' });
    await clock.advanceUntil(second.close());
    await clock.advanceUntil(() => probe.hits > 0);
    const reading = fourth.getData('/lock');
    await third.setData(watched, Buffer.from('else'));
    leaving.abort();
    await expect(clock.advanceUntil(ahead)).rejects.toBe(leaving.signal.reason);
    await clock.advanceUntil(reading);
    await clock.advance(100);
    expect(server.paths('/lock')).toHaveLength(3);
    expect(held()).toBe(false);
  });
});
