import { describe, expect, it, vi } from 'vitest';
import { EphemeralNode } from '../../../src/lease/ephemeral-node.js';
import type { HeartbeatNode } from '../../../src/session/connection/heartbeat.js';
import { stillServer } from '../../helpers/still-server.js';

/** A node of a session, kept alive, and the nodes that heartbeats are sent for. */
async function setUp() {
  const { clock, open } = await stillServer();
  const session = await open();
  const beating = new Set<HeartbeatNode>();
  vi.spyOn(session.heartbeat, 'add').mockImplementation((node) => void beating.add(node));
  vi.spyOn(session.heartbeat, 'remove').mockImplementation((node) => void beating.delete(node));
  const listenersBefore = session.ended.listenerCount;
  const own = EphemeralNode.of(session, '/node', clock.now());
  own.keepAlive();
  const isFollowed = () => beating.has(own) || session.ended.listenerCount > listenersBefore;
  return { clock, own, isFollowed };
}

describe('a node of this session', () => {
  it('has no heartbeats and listens to nothing once it is released and the go is over', async () => {
    const { own, isFollowed } = await setUp();
    expect(isFollowed()).toBe(true);
    own.release();
    await Promise.resolve();
    expect(isFollowed()).toBe(false);
    own.keepAlive();
    expect(isFollowed()).toBe(false);
  });

  it('has none either once it is lost', async () => {
    const { own, isFollowed } = await setUp();
    own.lose(new Error('gone'));
    await Promise.resolve();
    expect(isFollowed()).toBe(false);
  });

  it('is no longer held from the moment at which it is released, whatever a heartbeat says that comes after', async () => {
    const { clock, own } = await setUp();
    const confirmed: number[] = [];
    own.whenConfirmed(() => confirmed.push(clock.now()));
    expect(own.isHeld()).toBe(true);
    own.release();
    expect(own.isHeld()).toBe(false);
    own.confirmed(clock.now());
    expect(own.isHeld()).toBe(false);
    expect(confirmed).toEqual([]);
  });
});
