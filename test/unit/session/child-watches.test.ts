import { describe, expect, it } from 'vitest';
import { nextEvent } from '../../support/events.js';
import { sessionAt, startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';

/** Opens two sessions, creates a node, and makes watchers of the first session that record their notifications. */
async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const [session, other] = [await open(), await open()];
  await other.create('/node');
  const heard: string[] = [];
  const watcher = (name: string) => ({ changed: (change: string) => void heard.push(`${name} ${change}`) });
  const arrived = () => clock.advanceUntil(session.exists('/node')); // Answered after all notifications.
  return { clock, server, session, other, heard, watcher, arrived };
}

describe('a watch of children', () => {
  it('fires once, when one comes or goes, and not for the data of the node or of a child', async () => {
    const { server, session, other, heard, watcher, arrived } = await setUp();
    await other.create('/node/old');
    const { value, zxid } = await session.listAndWatch('/node', watcher('first'));
    expect(value.strings()).toEqual(['old']);
    expect(zxid).toBeGreaterThan(0n);
    await other.setData('/node', Buffer.from('data'));
    await other.setData('/node/old', Buffer.from('data'));
    await arrived();
    expect([heard, server.watchCount()]).toEqual([[], 1]);
    await other.create('/node/new');
    await other.remove('/node/old');
    await arrived();
    expect([heard, server.watchCount()]).toEqual([['first changed'], 0]);
  });

  it('is shared by the watchers of a path, and apart from that of its data', async () => {
    const { server, session, other, heard, watcher, arrived } = await setUp();
    await session.listAndWatch('/node', watcher('first'));
    await session.listAndWatch('/node', watcher('second'));
    await session.readAndWatch('/node', watcher('data'));
    expect(server.watchCount()).toBe(2);
    await other.create('/node/new');
    await arrived();
    expect(heard).toEqual(['first changed', 'second changed']);
    await other.setData('/node', Buffer.from('data'));
    await arrived();
    expect(heard.slice(2)).toEqual(['data changed']);
  });

  it('tells of the end of the node, with one event for all of its watches', async () => {
    const { server, session, other, heard, watcher, arrived } = await setUp();
    await session.listAndWatch('/node', watcher('children'));
    await session.readAndWatch('/node', watcher('data'));
    await other.remove('/node');
    await arrived();
    expect(heard.sort()).toEqual(['children deleted', 'data deleted']);
    expect(server.watchCount()).toBe(0);
  });

  it('is removed from the server when no watcher is left', async () => {
    const { server, session, heard, other, watcher, arrived } = await setUp();
    const [first, second] = [watcher('first'), watcher('second')];
    await session.listAndWatch('/node', first);
    await session.listAndWatch('/node', second);
    await session.readAndWatch('/node', watcher('data'));
    expect(session.cancelChildWatch('/node', first)).toBe(true);
    await arrived();
    expect(server.watchCount()).toBe(2);
    expect(session.cancelChildWatch('/node', second)).toBe(true);
    await arrived();
    expect(server.watchCount()).toBe(1);
    await other.create('/node/new');
    await arrived();
    expect(heard).toEqual([]);
  });

  it('is none after a listing that failed', async () => {
    const { server, session, heard, other, watcher, arrived } = await setUp();
    await expect(session.listAndWatch('/missing', watcher('first'))).rejects.toThrow('NO_NODE');
    await other.create('/missing');
    await other.create('/missing/child');
    await arrived();
    expect([heard, server.watchCount()]).toEqual([[], 0]);
    expect(session.cancelChildWatch('/missing', watcher('never'))).toBe(true);
  });

  it('is set again by the next connection, which tells of what has happened in between', async () => {
    const { clock, server, session, other, heard, watcher, arrived } = await setUp();
    for (const path of ['/changed', '/same', '/gone']) {
      await other.create(path);
      await session.listAndWatch(path, watcher(path));
    }
    const resumed = nextEvent(session, 'resumed');
    sessionAt(server, session).dropConnection();
    await other.create('/changed/child');
    await other.remove('/gone');
    await clock.advanceUntil(resumed);
    await arrived();
    expect(heard.sort()).toEqual(['/changed changed', '/gone deleted']);
    await other.create('/same/child');
    await arrived();
    expect(heard[2]).toBe('/same changed');
  });
});
