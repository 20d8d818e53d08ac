import { describe, expect, it } from 'vitest';
import { SessionClosedError, ZooKeeperError } from '../../../../src/errors.js';
import type { NodeData } from '../../../../src/session/protocol/records.js';
import type { Session } from '../../../../src/session/session.js';
import { NodeFollower } from '../../../../src/shards/observer/node-follower.js';
import { sessionAt, startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const NODE = '/node';

/** Two sessions, and followers of the first that record what they are told. */
async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const [session, other] = [await open(), await open()];
  const follow = (by: Session = session) => {
    const told: string[] = [];
    const errors: unknown[] = [];
    const follower = new NodeFollower(by, NODE, {
      read: ({ data }: NodeData) => told.push(String(data)),
      missing: () => told.push('missing'),
      failed: (error) => errors.push(error),
    });
    return { follower, told, errors };
  };
  const write = async (data: string) => {
    await clock.advanceUntil(other.setData(NODE, Buffer.from(data)));
    await clock.advance(10);
  };
  const create = async (data: string) => {
    await clock.advanceUntil(other.create(NODE, { data: Buffer.from(data) }));
    await clock.advance(10);
  };
  const remove = async () => {
    await clock.advanceUntil(other.remove(NODE));
    await clock.advance(10);
  };
  return { clock, server, session, other, follow, write, create, remove };
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
    const { follower, told } = follow();
    session.on('resumed', () => follower.resumed());
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
