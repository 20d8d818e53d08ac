import { describe, expect, it } from 'vitest';
import { SessionClosedError, ZooKeeperError } from '../../../../src/errors.js';
import { listingPauseMs, PACE_MS, ReadSlots } from '../../../../src/overview/reading/reader-resources.js';
import type { Reply } from '../../../../src/session/connection/reply.js';
import { CHILDREN, DATA, FollowedNode } from '../../../../src/session/observers/followed-node.js';
import type { ChildNames } from '../../../../src/session/protocol/child-names.js';
import type { NodeData } from '../../../../src/session/protocol/multi-and-stats.js';
import { sessionAt, startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const NODE = '/node';

/** Two sessions: what the second one does arrives at the first one before it goes on. */
async function openTwo() {
  const { clock, server, open } = await startWithTestClock();
  const [session, other] = [await open(), await open()];
  const arrived = async (done: Promise<unknown>) => {
    await clock.advanceUntil(done);
    await clock.advance(1);
  };
  const write = (data: string) => arrived(other.setData(NODE, Buffer.from(data)));
  const create = (data: string) => arrived(other.create(NODE, { data: Buffer.from(data) }));
  const remove = () => arrived(other.remove(NODE));
  return { clock, server, session, other, write, create, remove };
}

/** As {@link openTwo}, with followers of the first session that record what they are told. */
async function setUp() {
  const all = await openTwo();
  const follow = () => {
    const told: string[] = [];
    const errors: unknown[] = [];
    const listener = {
      read: ({ data }: NodeData) => told.push(String(data)),
      missing: () => told.push('missing'),
      failed: (error: unknown) => errors.push(error),
    };
    const follower = new FollowedNode(all.session, NODE, DATA, listener, { whenMissing: 'wait' });
    return { follower, told, errors };
  };
  return { ...all, follow };
}

describe('a node that comes and goes', () => {
  it('is read when it comes and after each change, with one watch all the time', async () => {
    const { clock, server, follow, write, create, remove } = await setUp();
    const { told, errors } = follow();
    await clock.advance(10);
    for (const round of ['first', 'second']) {
      expect(server.watchCount()).toBe(1);
      await create(round);
      expect(server.watchCount()).toBe(1);
      await write(`${round} again`);
      await remove();
    }
    const expected = ['missing', 'first', 'first again', 'missing', 'second', 'second again', 'missing'];
    expect([told, errors]).toEqual([expected, []]);
  });

  it('is found if it comes between the read that did not find it and the watch', async () => {
    const { clock, server, other, follow, write } = await setUp();
    const reading = server.delay(100, { only: 'getData', times: 1 });
    const { told } = follow();
    await clock.advanceUntil(() => reading.hits === 1);
    await other.create(NODE, { data: Buffer.from('found') });
    await clock.advance(1000);
    expect(told).toEqual(['missing', 'found']);
    await write('changed');
    expect([told.at(-1), server.watchCount()]).toEqual(['changed', 1]);
  });

  it('is waited for over a lost connection, also if it comes meanwhile', async () => {
    const { clock, server, session, follow, create } = await setUp();
    const { told } = follow();
    await clock.advance(10);
    const atServer = sessionAt(server, session);
    atServer.dropConnection();
    await clock.advance(1000);
    expect(server.watchCount()).toBe(1);
    atServer.dropConnection();
    await create('meanwhile');
    await clock.advance(1000);
    expect([told.at(-1), server.watchCount()]).toEqual(['meanwhile', 1]);
  });

  it('leaves no watch when it is not followed any more', async () => {
    const { clock, server, follow, create } = await setUp();
    const waiting = follow();
    await clock.advance(10);
    waiting.follower.stop();
    await clock.advance(10);
    expect(server.watchCount()).toBe(0);
    const reading = follow();
    await create('there');
    reading.follower.stop();
    await clock.advance(10);
    expect(server.watchCount()).toBe(0);
    expect([waiting.told, reading.told]).toEqual([['missing'], ['missing', 'there']]);
  });

  it('is followed by several of one session, none of which takes away the watch of another one', async () => {
    const { clock, server, follow, write, create, remove } = await setUp();
    const [first, second, third] = [follow(), follow(), follow()];
    await clock.advance(10);
    first.follower.stop();
    await clock.advance(10);
    expect(server.watchCount()).toBe(1);
    await create('there');
    second.follower.stop();
    await clock.advance(10);
    await write('changed');
    await remove();
    expect(first.told).toEqual(['missing']);
    expect(second.told).toEqual(['missing', 'there']);
    expect(third.told).toEqual(['missing', 'there', 'changed', 'missing']);
  });

  it('that a server refuses to show, or whose session has ended, is followed no more', async () => {
    const { clock, server, session, follow } = await setUp();
    server.failWith('NO_AUTH', { operation: 'getData', times: 1 });
    const refused = follow();
    await clock.advance(10);
    expect(refused.errors).toHaveLength(1);
    expect(refused.errors[0]).toBeInstanceOf(ZooKeeperError);
    await clock.advanceUntil(session.close());
    const late = follow();
    await clock.advance(10);
    expect(late.errors[0]).toBeInstanceOf(SessionClosedError);
    expect([refused.told, late.told]).toEqual([[], []]);
  });
});

/** A node that is read at a pace, and one reader of it at a time. */
async function setUpPaced() {
  const all = await openTwo();
  await all.create('0');
  const told: string[] = [];
  const failed = (error: unknown) => void told.push(String(error));
  const missing = () => void told.push('gone');
  const options = () => ({ whenMissing: 'end', slots: new ReadSlots(1) }) as const;
  const ofData = () => {
    const read = ({ data }: NodeData) => void told.push(String(data));
    const paced = { ...options(), pauseMs: () => PACE_MS };
    return new FollowedNode(all.session, NODE, DATA, { read, missing, failed }, paced);
  };
  const ofChildren = () => {
    const read = ({ value }: Reply<ChildNames>) => void told.push(value.strings().sort().join());
    const paced = { ...options(), pauseMs: listingPauseMs };
    return new FollowedNode(all.session, NODE, CHILDREN, { read, missing, failed }, paced);
  };
  return { ...all, told, ofData, ofChildren };
}

describe('what is read with a watch, at a pace', () => {
  it('is read at once after a change, if it has not changed for a while', async () => {
    const { clock, told, ofData, write } = await setUpPaced();
    const watch = ofData();
    expect(watch.isStale).toBe(true);
    await clock.advance(PACE_MS);
    expect(watch.isStale).toBe(false);
    await write('1');
    expect(told).toEqual(['0', '1']);
  });

  it('is read no more often than that while it changes all the time, and in the end as it is', async () => {
    const { clock, server, told, ofData, write } = await setUpPaced();
    ofData();
    await clock.advance(PACE_MS);
    server.resetCounts();
    for (let each = 1; each <= 50; each++) await write(String(each));
    await clock.advance(PACE_MS);
    expect(told.at(-1)).toBe('50');
    expect(server.count('getData')).toBeLessThan(5);
    expect(server.watchCount()).toBe(1);
  });

  it('is listed less often the more children it has, also if they are none that an overview shows', async () => {
    const { clock, server, other, told, ofChildren } = await setUpPaced();
    const children = Array.from({ length: 2000 }, (_, at) => other.create(`/node/child-${at}`));
    await clock.advanceUntil(Promise.all(children));
    ofChildren();
    await clock.advance(PACE_MS);
    server.resetCounts();
    const countOf = () => server.count('getChildren');
    for (let each = 0; each < 40; each++) {
      await clock.advanceUntil(other.create(`/node/more-${each}`));
      await clock.advance(PACE_MS);
    }
    // In 4 s: at once, and then once in a second.
    expect(countOf()).toBeGreaterThanOrEqual(4);
    expect(countOf()).toBeLessThanOrEqual(5);
    await clock.advance(2000);
    expect(told.at(-1)?.split(',')).toHaveLength(2040);
  });

  it('is told of as gone once, also during a pause', async () => {
    const { clock, server, other, told, ofChildren } = await setUpPaced();
    ofChildren();
    await clock.advance(PACE_MS);
    await other.create('/node/a');
    await clock.advance(1);
    await other.create('/node/b');
    await clock.advance(1);
    for (const path of ['/node/a', '/node/b', '/node']) await other.remove(path);
    await clock.advance(2 * PACE_MS);
    expect(told).toEqual(['', 'a', 'gone']);
    expect(server.watchCount()).toBe(0);
  });

  it('leaves no watch when it is stopped: while it reads, watches, pauses, or is without a connection', async () => {
    const { clock, server, session, other, told, ofData, write } = await setUpPaced();
    ofData().stop();
    await clock.advance(10);
    const watching = ofData();
    await clock.advance(PACE_MS);
    watching.stop();
    const pausing = ofData();
    await clock.advance(10);
    await write('1');
    pausing.stop();
    await clock.advance(PACE_MS);
    sessionAt(server, session).dropConnection();
    await clock.advanceUntil(() => session.state.name === 'suspended');
    const held = ofData();
    held.stop();
    await clock.advanceUntil(session.whenConnected());
    await clock.advanceUntil(session.exists('/node'));
    await clock.advance(PACE_MS);
    await clock.advanceUntil(other.exists('/node'));
    expect(server.watchCount()).toBe(0);
    expect(told).toEqual(['0', '0']);
  });
});
