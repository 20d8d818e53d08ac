import { describe, expect, it, onTestFinished } from 'vitest';
import { InvalidOptionError, SessionClosedError, ZooKeeperError } from '../../../src/errors.js';
import { LockNode } from '../../../src/lease/own-node.js';
import { DistributedLock } from '../../../src/lock/distributed-lock.js';
import { ignore } from '../../../src/platform/async/promises.js';
import { NodeWatch } from '../../../src/session/node-watch.js';
import type { NodeData } from '../../../src/session/protocol/multi-and-stats.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';

/** Opens two sessions, and makes a follower of the first session that records its notifications. */
async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const [session, other] = [await open(), await open()];
  await other.create('/node', { data: Buffer.from('first') });
  const seen: string[] = [];
  const follower = {
    read: ({ data }: NodeData) => void seen.push(`says ${data}`),
    gone: () => void seen.push('gone'),
    failed: (error: unknown) => void seen.push(error instanceof ZooKeeperError ? error.name : String(error)),
  };
  const follow = () => new NodeWatch(session, '/node', follower);
  const until = (what: string) => clock.advanceUntil(() => seen.includes(what));
  return { clock, server, session, other, seen, follow, until };
}

describe('a node that is followed', () => {
  it('is read at first, after each change, and reported as gone once', async () => {
    const { server, other, seen, follow, until } = await setUp();
    follow();
    await until('says first');
    await other.setData('/node', Buffer.from('second'));
    await until('says second');
    await other.remove('/node');
    await until('gone');
    expect(seen).toEqual(['says first', 'says second', 'gone']);
    expect(server.watchCount()).toBe(0);
  });

  it('is gone if it was never there', async () => {
    const { server, other, seen, follow, until } = await setUp();
    await other.remove('/node');
    follow();
    await until('gone');
    expect(seen).toEqual(['gone']);
    expect(server.watchCount()).toBe(0);
  });

  it('reports nothing any more when that is stopped, and the server neither', async () => {
    const { clock, server, other, seen, follow, until } = await setUp();
    const watch = follow();
    await until('says first');
    expect(server.watchCount()).toBe(1);
    watch.stop();
    await clock.advanceUntil(() => server.watchCount() === 0);
    await other.setData('/node', Buffer.from('second'));
    await clock.advance(1000);
    expect(seen).toEqual(['says first']);
  });

  it('leaves no watch behind when that is stopped before its first read is answered', async () => {
    const { clock, server, seen, follow } = await setUp();
    follow().stop();
    await clock.advanceUntil(() => server.count('getData') === 1);
    await clock.advance(1000);
    expect(server.watchCount()).toBe(0);
    expect(seen).toEqual([]);
  });

  it('leaves no watch behind when that is stopped without a connection, and its read goes out all the same', async () => {
    const { clock, server, session, seen, follow } = await setUp();
    server.partition();
    await clock.advanceUntil(() => session.state.name === 'suspended');
    follow().stop();
    server.heal();
    await clock.advanceUntil(() => session.state.name === 'connected');
    await clock.advance(1000);
    expect(server.count('getData')).toBe(1);
    expect(server.watchCount()).toBe(0);
    expect(seen).toEqual([]);
  });

  it('is read again after a read whose reply was lost', async () => {
    const { clock, server, seen, follow, until } = await setUp();
    const lost = server.swallowReply('getData', { path: /node/ });
    follow();
    await until('says first');
    expect(lost.hits).toBe(1);
    await clock.advance(1000);
    expect(seen).toEqual(['says first']);
    expect(server.watchCount()).toBe(1);
  });

  it('reports what ended the session when it would have to be read', async () => {
    const { clock, session, seen, follow } = await setUp();
    await clock.advanceUntil(session.close());
    follow();
    await clock.advance(0);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain('closed');
  });
});

it('a read of a path that is wrong is refused, and nothing else happens when it is given up', async () => {
  const { clock, session } = await setUp();
  const uncaught: unknown[] = [];
  const note = (error: unknown) => void uncaught.push(error);
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException').on('uncaughtException', note);
  onTestFinished(() => {
    process.off('uncaughtException', note);
    for (const listener of listeners) process.on('uncaughtException', listener);
  });
  const giveUp = new AbortController();
  const reading = session.getData('no path', { onChange: ignore, signal: giveUp.signal });
  const refused = expect(reading).rejects.toBeInstanceOf(InvalidOptionError);
  giveUp.abort();
  await refused;
  await clock.advance(0);
  expect(uncaught).toEqual([]);
});

it('a node of a session that is over is lost from the beginning', async () => {
  const { clock, session } = await setUp();
  await clock.advanceUntil(session.close());
  expect(LockNode.of(session, '/node').lost.reason).toBeInstanceOf(SessionClosedError);
});

it('the node of a lock that is held is watched from its first heartbeat on, and no more when it is given up', async () => {
  const { clock, server, session } = await setUp();
  const hold = await clock.advanceUntil(new DistributedLock(session, '/lock').acquire());
  expect(server.watchCount()).toBe(0);
  await clock.advance(session.leaseMs / 4);
  expect(server.watchCount()).toBe(1);
  await clock.advanceUntil(hold.release());
  await clock.advance(0);
  expect(server.watchCount()).toBe(0);
});
