import { describe, expect, it, vi } from 'vitest';
import { BadVersionError, type DemotionReason } from '../../src/errors.js';
import { takeoverDelayMs } from '../../src/lease/failure-detector.js';
import { NodeWithHeartbeat, RecordLostError } from '../../src/lease/node-with-heartbeat.js';
import { heartbeatPathOf } from '../../src/queue/names-and-order.js';
import { startElection } from '../support/conclave/elections-in-test-time.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';

const PATH = '/election';
const TIMES = { sessionTimeoutMs: 6000, leaseMs: 2000 };
const BEAT_MS = TIMES.leaseMs / 4;
const UNREADABLE = Buffer.from('x');

/** An election with a leader, and another client. */
async function setUp() {
  const election = await startElection(PATH, TIMES);
  const first = await election.lead('A');
  const ends: DemotionReason[] = [];
  first.on('demoted', (_, reason) => ends.push(reason));
  return { ...election, first, ends, stranger: await election.open(TIMES) };
}

describe('the lease of a term', () => {
  /** The two nodes of a candidate, and a record. No proof has been sent yet. */
  async function setUpNode() {
    const { clock, open } = await startWithTestClock();
    const session = await open(TIMES);
    const [own, heartbeatPath, path] = ['/own', '/own-heartbeat', '/record'];
    for (const each of [own, heartbeatPath]) await session.create(each, { mode: 'ephemeral' });
    await session.create(path);
    const node = NodeWithHeartbeat.of(session, own, heartbeatPath);
    const write = () => clock.advanceUntil(session.setData(path, UNREADABLE));
    const begin = (version: number) =>
      clock.advanceUntil(node.beginTerm([{ kind: 'check', path, version }], { path, version }));
    return { clock, session, node, write, begin };
  }

  it('begins with a write that the servers carry out because the record is still the one of the term', async () => {
    const { node, write, begin } = await setUpNode();
    await begin(0);
    expect([node.isHeld(), node.hasLeaseOf(0), node.hasLeaseOf(1)]).toEqual([true, true, false]);
    await write();
    await expect(begin(0)).rejects.toBeInstanceOf(BadVersionError);
    expect([node.isHeld(), node.isGone]).toEqual([false, false]);
    await begin(1);
    expect(node.hasLeaseOf(1)).toBe(true);
  });

  it('is no lease from before the term', async () => {
    const { clock, node, write, begin } = await setUpNode();
    await clock.advanceUntil(node.renew());
    expect(node.isHeld()).toBe(true);
    await write();
    await expect(begin(0)).rejects.toBeInstanceOf(BadVersionError);
    expect(node.isHeld()).toBe(false);
  });

  it('is not extended by a renewal once the record has another version', async () => {
    const { clock, node, write, begin } = await setUpNode();
    await begin(0);
    await clock.advanceUntil(node.renew());
    await write();
    await expect(clock.advanceUntil(node.renew())).rejects.toBeInstanceOf(RecordLostError);
    expect([node.isHeld(), node.isGone]).toEqual([false, true]);
  });

  it('ends with the first heartbeat that finds another version of the record, and with it the node’s use', async () => {
    const { clock, node, write, begin } = await setUpNode();
    await begin(0);
    await clock.advance(10 * BEAT_MS);
    expect(node.isHeld()).toBe(true);
    await write();
    await clock.advance(BEAT_MS);
    expect(node.isHeld()).toBe(false);
    expect(node.lost.reason).toBeInstanceOf(RecordLostError);
  });
});

describe('a leader whose record another client overwrites', () => {
  it('ends its term with its next heartbeat, for a reason of its own', async () => {
    const { clock, first, stranger, ends } = await setUp();
    const { term } = first;
    await clock.advanceUntil(stranger.setData(PATH, UNREADABLE));
    await clock.advance(BEAT_MS);
    expect([term?.isHeld(), ends]).toEqual([false, ['record-overwritten']]);
    expect(term?.signal.reason).toMatchObject({ reason: 'record-overwritten' });
    expect(String(term?.signal.reason.cause)).toContain(PATH);
  });

  it('has its guarded writes refused from then on, which ends its term too', async () => {
    const { clock, first, stranger, ends } = await setUp();
    const { term } = first;
    await clock.advanceUntil(stranger.setData(PATH, UNREADABLE));
    const writing = term?.transaction().create('/act').commit();
    await expect(clock.advanceUntil(writing as Promise<void>)).rejects.toMatchObject({
      ...{ code: 'TERM_ENDED', reason: 'record-overwritten' },
    });
    expect(await clock.advanceUntil(stranger.exists('/act'))).toBeUndefined();
    expect(ends).toEqual(['record-overwritten']);
  });

  it('is followed by another leader when its lease is surely over, counted from when the others saw it', async () => {
    const { clock, join, stranger, elected } = await setUp();
    await join('B');
    await clock.advance(3 * TIMES.sessionTimeoutMs);
    await clock.advanceUntil(stranger.setData(PATH, UNREADABLE));
    await clock.advance(takeoverDelayMs(TIMES.leaseMs) - 1);
    expect(elected).toEqual(['A 1']);
    await clock.advance(BEAT_MS + 100);
    expect(elected).toEqual(['A 1', expect.stringMatching(/^B /)]);
  });
});

describe('after a leader that was chosen out of turn', () => {
  it('the next in line takes over, and not a candidate behind the leader', async () => {
    for (let run = 0; run < 4; run++) {
      const { clock, join, first, elected, atServer } = await setUp();
      await join('B', { priority: 5 });
      const preferred = await join('C', { priority: 10 });
      await clock.advanceUntil(first.resign()); // It joins again behind C.
      await clock.advance(3 * TIMES.sessionTimeoutMs + 100 * run);
      atServer(preferred).partition();
      await clock.advance(2 * takeoverDelayMs(TIMES.leaseMs));
      expect(elected).toEqual(['A 1', 'C 2', 'B 3']);
    }
  });

  it('candidates behind it know how many are ahead of them', async () => {
    const { clock, join, first } = await setUp();
    for (const id of ['B', 'C', 'D']) await join(id);
    const last = await join('E');
    await clock.advanceUntil(first.handOver('D'));
    await clock.advance(5 * TIMES.sessionTimeoutMs);
    expect(last.state).toMatchObject({ name: 'waiting', position: 3 });
  });
});

describe('a candidate', () => {
  it('that was handed a term begins none if the record is overwritten before its first proof', async () => {
    const { clock, server, join, first, stranger, elected } = await setUp();
    const second = await join('B');
    await clock.advance(3 * TIMES.sessionTimeoutMs);
    server.delay(100, { only: 'getData', path: PATH, times: 1 }); // It is carried out before, and shows the handover.
    await clock.advanceUntil(first.stop());
    await clock.advance(50);
    await clock.advanceUntil(stranger.setData(PATH, UNREADABLE));
    await clock.advance(takeoverDelayMs(TIMES.leaseMs));
    expect([elected, second.state.name]).toEqual([['A 1'], 'claiming']);
    await clock.advance(200);
    expect(elected).toEqual(['A 1', expect.stringMatching(/^B /)]);
  });

  it('that waits sends no heartbeats', async () => {
    const { clock, server, join } = await setUp();
    for (const id of ['B', 'C', 'D']) await join(id);
    await clock.advance(3 * TIMES.sessionTimeoutMs);
    server.resetCounts();
    await clock.advance(10 * TIMES.leaseMs);
    expect(server.count('multi')).toBeLessThanOrEqual(41); // Four in a lease, all of the leader.
    expect(server.count('multi')).toBeGreaterThanOrEqual(39);
  });

  it('with a short lease waits out the longest one that it has seen when the whole election is deleted', async () => {
    const { clock, lead, join, leads, atServer, pathOf, open } = await startElection(PATH, {
      sessionTimeoutMs: 12_000,
    });
    const leader = await lead('leader', {}, { leaseMs: 4000 });
    const { term } = leader;
    const next = await join('next', {}, { leaseMs: 500 });
    const operator = await open();
    await clock.advance(10_000);
    const nodes = [leader, next].map(pathOf).flatMap((each) => [each, heartbeatPathOf(each)]);
    atServer(leader).partition();
    await clock.advanceUntil(
      operator.commit([...nodes, PATH].map((path) => ({ kind: 'delete' as const, path }))),
    );
    await leads(next);
    expect(term?.isHeld()).toBe(false);
  });

  it('whose connection ends again and again while it waits out a lease goes on with its wait', async () => {
    const { clock, join, stranger, elected, atServer } = await setUp();
    const second = await join('B');
    await clock.advance(TIMES.sessionTimeoutMs);
    await clock.advanceUntil(stranger.setData(PATH, UNREADABLE));
    for (let ms = 0; ms < 2500; ms += 50) {
      atServer(second).dropConnection();
      await clock.advance(50);
    }
    await clock.advance(takeoverDelayMs(TIMES.leaseMs) + TIMES.sessionTimeoutMs);
    expect(elected).toHaveLength(2);
  });
});

it('a record in the format of another release is named in the log of the candidate that empties it', async () => {
  const { clock, first, stranger } = await setUp();
  const { session } = first;
  const warned: unknown[] = [];
  vi.spyOn(session.logger, 'warn').mockImplementation((...line) => void warned.push(line));
  await clock.advanceUntil(stranger.setData(PATH, Buffer.from('{"format":2}')));
  await clock.advanceUntil(() => first.isLeader);
  await clock.advanceUntil(() => warned.length > 1);
  expect(warned).toContainEqual([
    expect.objectContaining({ path: PATH, format: 2 }),
    expect.stringContaining('another release of Conclave had written it in a format'),
  ]);
});
