/** Bugs of other systems, by the issues that report them. The tests of further bugs are beside the tests of the same subject. */
import { expect, it } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { parseRecord } from '../../src/election/record/record.js';
import type { Term } from '../../src/election/term/term.js';
import { SessionExpiredError, WorkOverrunError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { systemEnvironment } from '../../src/platform/injected-environment.js';
import { joinQueue } from '../../src/queue/join.js';
import { entryPrefix } from '../../src/queue/names-and-order.js';
import { campaign, candidateNodes, lead } from '../support/conclave/electors.js';
import { openProxied, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent, recordEvents } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { until } from '../support/waiting.mjs';

it('CURATOR-696, -620: the session expires in an outage: a candidate with a new session never leads on the node of the old one', async () => {
  const path = uniquePath('scenario');
  const proxy = await startProxy();
  const old = await openSession({ sessionTimeoutMs: 1500 }, proxy.connectString);
  const [former, formerTerm] = await lead(old, path, { id: 'same' });
  proxy.partition();
  // While the old session still lives at the servers, the same process comes back with a new session.
  const session = await openSession();
  const elector = new LeaderElector(session, path, { id: 'same' });
  const elected = nextEvent<[Term]>(elector, 'elected');
  const waiting = nextEvent(elector, 'waiting');
  await elector.start();
  expect(await waiting).toMatchObject([{ position: 1 }]);
  const [term] = await elected;
  expect(formerTerm.isHeld()).toBe(false);
  expect(term.number).toBe(2);
  const { data, stat } = await session.getData(path);
  const { node } = parseRecord(data, stat.version) as { node: string };
  expect(session.owns((await session.getData(`${path}/${node}`)).stat)).toBe(true);
  proxy.restore();
  await former.stop();
  await elector.stop();
});

it('CURATOR-504, -644, -645: two suspend and reconnect in the same session: neither makes another node; one leads, as before', async () => {
  const path = uniquePath('scenario');
  const proxy = await startProxy();
  const sessions = [
    await openSession({}, proxy.connectString),
    await openSession({}, proxy.connectString),
  ] as const;
  const [leader, term] = await lead(sessions[0], path);
  const waiter = await campaign(sessions[1], path);
  const observer = await openSession();
  const nodes = await candidateNodes(observer, path);
  const events = [recordEvents(leader, 'demoted', 'elected'), recordEvents(waiter, 'elected')];
  for (let round = 0; round < 3; round++) {
    const resumed = sessions.map((session) => nextEvent(session, 'resumed'));
    proxy.dropConnections();
    await Promise.all(resumed);
  }
  for (const session of sessions) await session.exists(path);
  expect(await candidateNodes(observer, path)).toEqual(nodes);
  expect(term.isHeld()).toBe(true);
  expect(events).toEqual([[], []]);
  await eventAfter(waiter, 'elected', () => leader.stop());
  await waiter.stop();
});

it('CURATOR-498: create, connection lost, session over: the dying node that the search for the uuid finds is not adopted', async () => {
  const path = uniquePath('scenario');
  const dying = await openSession();
  const uuid = systemEnvironment.uuid();
  await dying.ensurePath(path);
  const ghost = await dying.create(`${path}/${entryPrefix(uuid)}`, { mode: 'ephemeral-sequential' });
  const { proxy, session } = await openProxied();
  const lost = proxy.loseReplyTo('create', { text: uuid });
  // The create's reply is lost. The contender then finds two nodes by the uuid: the ghost, and the one that it created. Only the
  // latter is its own.
  const contender = await joinQueue(session, path, { id: uuid });
  await lost;
  expect(contender.node.path).not.toBe(ghost.value);
  expect(await session.getChildren(path)).toHaveLength(2);
  expect(session.owns((await session.getData(contender.node.path)).stat)).toBe(true);
  await contender.leave();
});

it('CURATOR-54: the session is lost between the claim and the work: the work never starts, or starts with a term that is over', async () => {
  const path = uniquePath('scenario');
  const { proxy, session } = await openProxied({ sessionTimeoutMs: 800 });
  const began: boolean[] = [];
  const elector = new LeaderElector(session, path, {
    lead: (term) => void began.push(term.isHeld() && !term.signal.aborted),
  });
  // Right before the work would begin, this listener blocks for longer than the session lasts.
  elector.once('elected', () => {
    proxy.partition();
    const end = performance.now() + 1200;
    while (performance.now() < end);
  });
  const demoted = nextEvent<[Term, string]>(elector, 'demoted');
  await elector.start();
  expect((await demoted)[1]).not.toBe('finished');
  expect(began.filter(Boolean)).toEqual([]);
  proxy.restore();
  await elector.stop();
});

it("etcd #11456 (Jepsen): a waiter's session expires while it queues: it does not lead when the one ahead leaves after that", async () => {
  const path = uniquePath('scenario');
  const proxy = await startProxy();
  const observer = await openSession();
  const holder = await new DistributedLock(observer, path).acquire();
  const session = await openSession({ sessionTimeoutMs: 600 }, proxy.connectString);
  const waiting = new DistributedLock(session, path).acquire();
  const outcome = expect(waiting).rejects.toBeInstanceOf(SessionExpiredError);
  await until(async () => (await observer.getChildren(path)).length === 2, 'a waiter');
  proxy.cut();
  await until(async () => (await observer.getChildren(path)).length === 1, "the end of the waiter's session");
  await holder.release();
  proxy.restore();
  await outcome;
  const next = await new DistributedLock(observer, path).acquire({ timeoutMs: 2000 });
  expect(next.isHeld()).toBe(true);
  await next.release();
});

it('kubernetes #23731, cilium #42920: a renewal that hangs, or a hook that blocks: the lease ends in time all the same', async () => {
  const path = uniquePath('scenario');
  const { proxy, session } = await openProxied({ sessionTimeoutMs: 30_000, leaseMs: 500 });
  const [elector, term] = await lead(session, path, { lead: () => new Promise(() => undefined) });
  const overrun = nextEvent<[Error]>(elector, 'error');
  await proxy.partitionFrom('multi'); // The next heartbeat hangs, and the link with it.
  const hungAt = performance.now();
  await nextEvent(elector, 'demoted');
  expect(performance.now() - hungAt).toBeLessThan(1500);
  expect(term.isHeld()).toBe(false);
  // The work ignores its signal, and the lease ends without waiting for the work.
  expect((await overrun)[0]).toBeInstanceOf(WorkOverrunError);
  proxy.restore();
  void elector.stop();
});

it('CURATOR-15, -73, kuberhealthy #1533: one failure that passes: the supervisor goes on, and its health shows when it is not in the election', async () => {
  const path = uniquePath('scenario');
  const proxy = await startProxy();
  const observer = await openSession();
  const supervisor = new ElectionSupervisor({
    connect: proxy.connectString,
    path,
    session: { sessionTimeoutMs: 600 },
    retry: { minTimeout: 20, maxTimeout: 50 },
  });
  const elected = nextEvent(supervisor, 'elected');
  await supervisor.start();
  await elected;
  expect(supervisor.health()).toMatchObject({ live: true, ready: true, leading: true });
  const again = nextEvent(supervisor, 'elected');
  proxy.cut();
  await until(async () => (await observer.getChildren(path)).length === 0, 'the expiry');
  expect(supervisor.health()).toMatchObject({ leading: false });
  proxy.restore();
  await again;
  expect(supervisor.health()).toMatchObject({ live: true, ready: true, leading: true });
  await supervisor.stop();
  expect(supervisor.health()).toMatchObject({ ready: false, leading: false });
});

it('etcd3 #176, Curator #115: A leads, B and C wait, B dies: C does not lead, and does after A', async () => {
  const path = uniquePath('scenario');
  const [a, term] = await lead(await openSession(), path, { id: 'A' });
  const sessionOfB = await openSession();
  await campaign(sessionOfB, path, { id: 'B' });
  const c = await campaign(await openSession(), path, { id: 'C' });
  await until(() => c.state.name === 'waiting'); // C waits behind B.
  const moved = nextEvent(c, 'waiting');
  await sessionOfB.close();
  expect(await moved).toMatchObject([{ position: 1 }]);
  expect(term.isHeld()).toBe(true);
  expect(c.state.name).toBe('waiting');
  await eventAfter(c, 'elected', () => a.stop());
  await c.stop();
});

it('CURATOR-202, kazoo #732: the release comes while disconnected, and the same session resumes: the node goes in the end, and a candidate leads', async () => {
  const path = uniquePath('scenario');
  const { proxy, session } = await openProxied({ sessionTimeoutMs: 20_000 });
  const [leader] = await lead(session, path, { id: 'gone' });
  const next = await campaign(await openSession(), path, { id: 'next' });
  await eventAfter(session, 'suspended', () => proxy.cut());
  const stopped = leader.stop();
  await eventAfter(next, 'elected', () => proxy.restore());
  await stopped;
  expect((await next.candidates()).map(({ id }) => id)).toEqual(['next']);
  expect(session.state.name).toBe('connected');
  await next.stop();
});

it('kazoo #730, go-zookeeper #65: the sequence number after 2147483647 is -2147483648: the order of the queue is right across the wrap', async () => {
  const { session, path } = await openWithPath('scenario');
  await session.ensurePath(path);
  const numbers = ['-2147483648', '2147483647', '-2147483647', '2147483646'];
  for (const number of numbers) {
    // The server would name nodes like this after 2,000 million joins.
    const name = `${entryPrefix(systemEnvironment.uuid())}${number}`;
    await session.create(`${path}/${name}`, { mode: 'ephemeral' });
  }
  const elector = new LeaderElector(session, path);
  const order = (await elector.candidates()).map(({ sequence }) => sequence);
  expect(order).toEqual([2147483646, 2147483647, -2147483648, -2147483647]);
});
