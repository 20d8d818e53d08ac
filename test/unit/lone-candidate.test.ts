import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { candidateUuid } from '../../src/election/candidates/candidate-uuid.js';
import type { LeaderElector } from '../../src/election/leader-elector.js';
import { serializeRecord } from '../../src/election/record/election-record.js';
import { joinQueue } from '../../src/queue/join-queue.js';
import { heartbeatPathOf, parseEntry } from '../../src/queue/names-and-order.js';
import { startElection } from '../support/conclave/elections-in-test-time.js';

const PATH = '/elections/one';
const TIMES = { sessionTimeoutMs: 6000, leaseMs: 2000 };

/** Makes an election that has no candidates. */
async function setUp() {
  const election = await startElection(PATH, TIMES);
  const { clock, server } = election;
  const operator = await election.open(TIMES);
  await clock.advanceUntil(operator.ensurePath(PATH));
  const nodes = () => server.paths(PATH).filter((path) => path.includes('/_c_'));
  return { ...election, operator, nodes };
}

describe('a candidate that finds the election vacant and without candidates', () => {
  it('joins, claims and leaves in one write each, and reads the record while it joins', async () => {
    const { clock, server, make, record, nodes } = await setUp();
    const elector = await make('one');
    server.resetCounts();
    await clock.advanceUntil(elector.start());
    await clock.advanceUntil(() => elector.term);
    expect([server.count('create'), server.count('multi')]).toEqual([0, 2]);
    expect(server.requests[0]).toMatchObject({ operation: 'getData', paths: [PATH] });
    expect(nodes()).toEqual([expect.stringMatching(/-lock-0000000000$/)]);
    expect(record()).toMatchObject({ state: 'held', term: 1, id: 'one' });
    await clock.advanceUntil(elector.stop());
    expect([server.count('multi'), nodes(), record()]).toEqual([3, [], { state: 'vacant', term: 1 }]);
  });

  it('sends no request that it does not need if its term ends at once', async () => {
    const { clock, server, make } = await setUp();
    const elector = await make('one');
    const over = new Promise<void>((resolve) => elector.once('elected', () => resolve(elector.stop())));
    server.resetCounts();
    await clock.advanceUntil(elector.start());
    await clock.advanceUntil(over);
    await clock.advance(100);
    expect(server.requests.map(({ operation }) => operation)).toEqual([
      ...['getData', 'multi', 'getChildren'], // The record, and the place.
      ...['getData', 'multi'], // Its node, which it watches from now on, and the claim.
      ...['getChildren', 'removeWatches', 'multi'],
    ]);
  });

  it('hands its term over to a candidate that has joined since it read the record, however soon that term ends', async () => {
    const { clock, server, operator, make, record } = await setUp();
    const elector = await make('one');
    const over = new Promise<void>((resolve) => elector.once('elected', () => resolve(elector.stop())));
    const delayed = server.delay(100, { only: 'getData', path: PATH, times: 1 });
    const starting = elector.start();
    await clock.advanceUntil(() => delayed.hits > 0);
    const id = candidateUuid(randomUUID(), 0, TIMES.leaseMs);
    const { entry } = await clock.advanceUntil(joinQueue(operator, PATH, { id, parse: parseEntry }));
    await clock.advanceUntil(starting);
    await clock.advanceUntil(over);
    expect(record()).toMatchObject({ state: 'held', term: 2, node: entry.node });
  });

  it('leads alone, and the other one stands behind it, if two do so at once', async () => {
    const { clock, make, elected, nodes } = await setUp();
    const both = await Promise.all([make('one'), make('two')]);
    await clock.advanceUntil(Promise.all(both.map((elector) => elector.start())));
    await clock.advanceUntil(() => elected.length > 0);
    expect([elected.length, nodes().length]).toEqual([1, 2]);
    const [leader, next] = elected[0] === 'one 1' ? both : both.toReversed();
    await clock.advanceUntil((leader as LeaderElector).stop());
    await clock.advanceUntil(() => (next as LeaderElector).term);
    expect(elected).toHaveLength(2);
  });

  it('claims no record that another client has written since it was read', async () => {
    const { clock, server, operator, make, elected } = await setUp();
    const late = await make('late');
    const delayed = server.delay(100, { only: 'getData', path: PATH, times: 1 });
    const starting = late.start();
    await clock.advanceUntil(() => delayed.hits > 0);
    const node = `_c_${candidateUuid(randomUUID(), 0, TIMES.leaseMs)}-lock-0000000007`;
    const held = serializeRecord({ state: 'held', term: 1, node, leaseMs: TIMES.leaseMs });
    await clock.advanceUntil(operator.setData(PATH, held));
    const writtenAt = clock.now();
    await clock.advanceUntil(starting);
    await clock.advanceUntil(() => late.term);
    expect(elected).toEqual(['late 2']);
    expect(clock.now() - writtenAt).toBeGreaterThan(TIMES.leaseMs);
  });

  it('leads before another client that has joined since it read the record', async () => {
    const { clock, server, operator, make, elected } = await setUp();
    const elector = await make('one');
    const delayed = server.delay(100, { only: 'getData', path: PATH, times: 1 });
    const starting = elector.start();
    await clock.advanceUntil(() => delayed.hits > 0);
    const joined = await clock.advanceUntil(joinQueue(operator, PATH));
    await clock.advanceUntil(starting);
    await clock.advanceUntil(() => elected.length > 0);
    expect(elected).toEqual(['one 1']);
    await clock.advanceUntil(joined.leave());
  });
});

describe('a candidate whose claim is not answered', () => {
  it('finds out whether it leads, and has one place in the queue', async () => {
    const { clock, server, lead, elected, nodes, record } = await setUp();
    const lost = server.swallowReply('multi', { path: PATH });
    const elector = await lead('one');
    expect([lost.hits, elected, nodes().length]).toEqual([1, ['one 1'], 1]);
    expect(record()).toMatchObject({ state: 'held', term: 1 });
    await clock.advance(3 * TIMES.leaseMs);
    expect(elector.term?.isHeld()).toBe(true);
  });

  it('claims again, and leads, if the claim was not carried out', async () => {
    const { server, lead, elected, nodes } = await setUp();
    const lost = server.failWith('CONNECTION_LOSS', { operation: 'multi', path: PATH, times: 1 });
    await lead('one');
    expect([lost.hits, elected, nodes().length]).toEqual([1, ['one 1'], 1]);
  });

  it('leaves no heartbeat node behind if another client deletes its place before it looks, and leads from a new one', async () => {
    const { clock, server, operator, make, elected, nodes } = await setUp();
    const elector = await make('one');
    server.swallowReply('multi', { path: PATH });
    server.refuse();
    const starting = elector.start();
    const lost = await clock.advanceUntil(() => nodes()[0] as string);
    expect(server.paths(PATH)).toEqual([PATH, lost, heartbeatPathOf(lost)]);
    await clock.advanceUntil(operator.remove(lost));
    server.admit();
    await clock.advanceUntil(starting);
    await clock.advanceUntil(() => elector.term);
    const place = nodes()[0] as string;
    expect([place === lost, elected]).toEqual([false, ['one 2']]);
    expect(server.paths(PATH)).toEqual([PATH, place, heartbeatPathOf(place)]);
  });

  it('gives the term back when it is stopped meanwhile', async () => {
    const { clock, server, make, elected, nodes, record } = await setUp();
    const elector = await make('one');
    const lost = server.swallowReply('multi', { path: PATH });
    const starting = elector.start();
    await clock.advanceUntil(() => lost.hits > 0);
    await clock.advanceUntil(elector.stop());
    await starting;
    await clock.advanceUntil(() => nodes().length === 0);
    expect([elected, record()]).toEqual([[], { state: 'vacant', term: 1 }]);
  });
});
