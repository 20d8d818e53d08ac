import { describe, expect, it } from 'vitest';
import { firstSuccessor, markedSuccessor, type Successor } from '../../src/election/candidates/successor.js';
import { handoverOf } from '../../src/election/term/claim-and-release-writes.js';
import { BadVersionError, NoNodeError } from '../../src/errors.js';
import { joinQueue } from '../../src/queue/join-queue.js';
import { heartbeatPathOf, parseEntry, type QueueEntry } from '../../src/queue/names-and-order.js';
import type { Session } from '../../src/session/session.js';
import { partsOf } from '../../src/session/versioned-records.js';
import { startElection } from '../support/conclave/elections-in-test-time.js';

const PATH = '/election';
const TIMES = { sessionTimeoutMs: 6000, leaseMs: 2000 };

const setUp = () => startElection(PATH, TIMES);

/** The candidate with that node as a successor, as a leader knows it. */
async function successorOf(session: Session, path: string, isFirst: boolean): Promise<Successor> {
  const entry = parseEntry(path.slice(PATH.length + 1)) as QueueEntry;
  const found = isFirst ? firstSuccessor(entry) : markedSuccessor(entry, await session.getData(path));
  if (found === undefined) throw new Error('it is no candidate');
  return found;
}

/** Starts a leader that knows the next candidate, and hands over to it after that candidate has done something. */
async function setUpSuccessor(isFirst: boolean) {
  const { clock, open, lead, join, pathOf, record } = await setUp();
  const leader = await lead('leader');
  const elector = await join('next');
  const session = await open(TIMES);
  const hand = async (meanwhile: () => Promise<void>) => {
    const successor = await clock.advanceUntil(successorOf(session, pathOf(elector), isFirst));
    await clock.advanceUntil(meanwhile());
    const parts = partsOf([handoverOf({ path: PATH, version: 1, connection: 1 }, successor, 2, [])]);
    await clock.advanceUntil(session.commit(parts));
  };
  const leads = () => {
    const found = record();
    return leader.isLeader && found.state === 'held' && found.id === 'leader' && found.term === 1;
  };
  return { elector, hand, leads };
}

describe('a handover', () => {
  it('is one write and one notification, and the next one leads by a proof, without a claim', async () => {
    const { clock, lead, join, nodeOf, elected, record, server } = await setUp();
    const leader = await lead('leader');
    const next = await join('next');
    await clock.advance(2 * TIMES.sessionTimeoutMs);
    server.resetCounts();
    await clock.advanceUntil(leader.stop());
    await clock.advanceUntil(() => next.term);
    expect(elected).toEqual(['leader 1', 'next 2']);
    const node = nodeOf(next);
    expect(record()).toMatchObject({ state: 'held', term: 2, node, leaseMs: 2000 });
    const writes = server.requests
      .filter(({ paths }) => paths.includes(PATH))
      .map(({ operation }) => operation);
    expect(writes.filter((operation) => operation === 'multi')).toHaveLength(2); // The release, and the proof, which checks the record.
    const { stat } = await clock.advanceUntil(next.session.getData(PATH));
    expect(stat.version).toBe(2); // The claim of the first term, and the release.
  });

  it('leaves out a candidate whose node another client has made too large for a mark', async () => {
    const { clock, open, lead, join, pathOf, elected } = await setUp();
    const leader = await lead('leader');
    await join('next');
    const preferred = await join('preferred', { priority: 5 });
    const other = await open(TIMES);
    const data = Buffer.from(JSON.stringify({ id: 'preferred', data: 'x'.repeat(1_043_540) }));
    await clock.advanceUntil(other.setData(pathOf(preferred), data));
    await clock.advance(2 * TIMES.sessionTimeoutMs);
    await clock.advanceUntil(leader.stop());
    expect(elected).toEqual(['leader 1', 'next 2']);
  });

  it('to the first in the queue takes no read of its node, by a leader that gives its term back at once', async () => {
    const { clock, server, lead, join, nodeOf, elected, record } = await setUp();
    const before = await lead('before');
    const brief = await join('brief');
    const next = await join('next');
    const node = nodeOf(next);
    await clock.advance(2 * TIMES.sessionTimeoutMs);
    server.resetCounts();
    brief.once('elected', () => void brief.stop());
    await clock.advanceUntil(before.stop());
    await clock.advanceUntil(() => next.term);
    expect(elected).toEqual(['before 1', 'brief 2', 'next 3']);
    const { id } = brief.session.credentials;
    const asked = server.requests.filter(({ session }) => session?.id === id);
    const operations = asked.map(({ operation }) => operation).filter((operation) => operation !== 'ping');
    expect(operations.slice(0, 4)).toEqual(['getData', 'multi', 'getChildren', 'removeWatches']);
    expect(
      asked.filter(({ operation }) => operation !== 'multi').flatMap(({ paths }) => paths),
    ).not.toContain(`${PATH}/${node}`);
    expect(record()).toMatchObject({ state: 'held', term: 3, node, leaseMs: 2000 });
    expect(record()).not.toHaveProperty('id'); // The successor's node has the id.
    expect((await clock.advanceUntil(next.leader()))?.id).toBe('next');
  });

  it('to a candidate that learns of it as all ahead are gone is taken up by the read, which goes out with the listing', async () => {
    const { clock, server, lead, join, nodeOf, elected, record } = await setUp();
    const leader = await lead('leader');
    const middle = await join('middle');
    const brief = await join('brief');
    const node = nodeOf(brief);
    await clock.advance(2 * TIMES.sessionTimeoutMs);
    server.delay(100, { only: 'exists', path: '/held', times: 1 });
    const held = brief.session.exists('/held'); // Its notifications come after the answer to this.
    await clock.advanceUntil(middle.stop());
    await clock.advanceUntil(leader.stop());
    expect(record()).toMatchObject({ state: 'held', term: 2, node });
    const next = await join('next');
    server.resetCounts();
    server.delay(50, { only: 'getData', path: PATH });
    brief.once('elected', () => void brief.stop());
    await clock.advanceUntil(held);
    await clock.advanceUntil(() => next.term);
    const { id } = brief.session.credentials;
    const asked = server.requests.filter(({ session, paths }) => session?.id === id && paths.includes(PATH));
    expect(asked.map(({ operation }) => operation)).toEqual([
      'getChildren',
      'getData',
      'multi', // The proof with which its term begins.
      'getChildren',
      'multi',
    ]);
    expect(asked[1]?.atMs).toBe(asked[0]?.atMs); // Neither has waited for the answer to the other.
    expect(elected).toEqual(['leader 1', 'brief 2', 'next 3']);
    expect(record()).toMatchObject({ term: 3, node: nodeOf(next) });
  });

  it('leaves the record vacant if the next in the queue is another client’s, whose name says no lease', async () => {
    const { clock, open, lead, record } = await setUp();
    const leader = await lead('leader');
    const other = await open(TIMES);
    const joined = await clock.advanceUntil(joinQueue(other, PATH, { data: Buffer.from('10.0.0.1') }));
    await clock.advance(2 * TIMES.sessionTimeoutMs);
    await clock.advanceUntil(leader.stop());
    expect(record()).toEqual({ state: 'vacant', term: 1 });
    await clock.advanceUntil(joined.leave());
  });

  it('by a record whose lease is shorter than the successor’s begins no term: the successor claims the next one', async () => {
    const { clock, open, lead, join, pathOf, elected, record } = await setUp();
    const leader = await lead('leader');
    const next = await join('next');
    const session = await open(TIMES);
    const successor = await clock.advanceUntil(successorOf(session, pathOf(next), true));
    const short = { ...successor, leaseMs: TIMES.leaseMs - 1 };
    const parts = partsOf([handoverOf({ path: PATH, version: 1, connection: 1 }, short, 2, [])]);
    await clock.advanceUntil(session.commit([...parts, { kind: 'delete', path: pathOf(leader) }]));
    const term = await clock.advanceUntil(() => next.term);
    expect(term?.number).toBe(3);
    expect(elected).not.toContain('next 2');
    expect(record()).toMatchObject({ state: 'held', term: 3, id: 'next', leaseMs: TIMES.leaseMs });
  });

  it('is refused, with all that goes with it, if the successor has changed its node since that was read', async () => {
    const { elector, hand, leads } = await setUpSuccessor(false);
    await expect(hand(() => elector.advertise('news'))).rejects.toBeInstanceOf(BadVersionError);
    expect(leads()).toBe(true);
  });

  it.each([
    ['the first in the queue', true],
    ['another one', false],
  ])('is refused, with all that goes with it, if the successor, %s, has left', async (_, isFirst) => {
    const { elector, hand, leads } = await setUpSuccessor(isFirst);
    await expect(hand(() => elector.stop())).rejects.toBeInstanceOf(NoNodeError);
    expect(leads()).toBe(true);
  });

  it('to a candidate that stops in the same moment is given on by that one, and nobody waits out a lease', async () => {
    const { clock, server, lead, join, nodeOf, elected, record } = await setUp();
    const leader = await lead('leader');
    const next = await join('next');
    const last = await join('last');
    await clock.advance(2 * TIMES.sessionTimeoutMs);
    const before = clock.now();
    const leaving = server.delay(20, { only: 'getData', path: PATH }); // The leader's release comes first.
    const stopping = Promise.all([next.stop(), leader.stop()]);
    await clock.advanceUntil(() => leaving.hits > 0);
    leaving.clear();
    await clock.advanceUntil(() => last.term);
    expect(clock.now() - before).toBeLessThan(TIMES.leaseMs / 2);
    await clock.advanceUntil(stopping);
    expect(elected).toEqual(['leader 1', 'last 3']);
    expect(record()).toMatchObject({ state: 'held', term: 3, node: nodeOf(last) });
  });

  it('to a candidate that is leaving, and has read the record before it, is noticed and given on', async () => {
    const { clock, server, lead, join, elected } = await setUp();
    const leader = await lead('leader');
    const next = await join('next');
    const last = await join('last');
    await clock.advance(2 * TIMES.sessionTimeoutMs);
    const late = server.delay(100, { only: 'getData', path: PATH });
    const before = clock.now();
    const leaving = next.stop();
    await clock.advanceUntil(() => late.hits > 0);
    const stopping = Promise.all([leaving, leader.stop()]);
    await clock.advanceUntil(() => elected.length === 2);
    expect(elected).toEqual(['leader 1', 'last 3']);
    expect(clock.now() - before).toBeLessThan(TIMES.leaseMs / 2);
    await clock.advanceUntil(stopping);
    expect(last.isLeader).toBe(true);
  });

  it('to a candidate that was not the next in line begins its lease with a proof, which raises its heartbeat node', async () => {
    const { clock, lead, join, pathOf } = await setUp();
    const leader = await lead('leader');
    await join('next');
    const named = await join('named');
    await clock.advance(2 * TIMES.leaseMs);
    const heartbeatPath = heartbeatPathOf(pathOf(named));
    const version = async () => (await clock.advanceUntil(named.session.exists(heartbeatPath)))?.version;
    expect(await version()).toBe(0);
    await clock.advanceUntil(leader.handOver('named'));
    const term = await clock.advanceUntil(() => named.term);
    expect([term?.number, term?.isHeld()]).toEqual([2, true]);
    expect(await version()).toBeGreaterThan(0);
  });
});
