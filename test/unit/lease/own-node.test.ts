import { describe, expect, it, vi } from 'vitest';
import { OwnNode } from '../../../src/lease/own-node.js';
import { leaseStart } from '../../../src/platform/time/clock.js';
import type { ProvenNode } from '../../../src/session/keep-alive/proof-batch.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';

/** Makes a session's node that is kept alive, and records the nodes for which the session sends heartbeats. */
async function setUp() {
  const { clock, open } = await startWithTestClock();
  const session = await open();
  const beating = new Set<ProvenNode>();
  vi.spyOn(session.keepAlive, 'add').mockImplementation((node) => void beating.add(node));
  vi.spyOn(session.keepAlive, 'remove').mockImplementation((node) => void beating.delete(node));
  const listenersBefore = session.ended.listenerCount;
  const node = OwnNode.of(session, '/node', { sentAt: leaseStart(clock) });
  node.keepAlive();
  const isFollowed = () => beating.has(node) || session.ended.listenerCount > listenersBefore;
  return { clock, node, isFollowed };
}

describe('a node of this session', () => {
  it('has no heartbeats and listens to nothing as soon as the code that released it has run', async () => {
    const { node, isFollowed } = await setUp();
    expect(isFollowed()).toBe(true);
    node.release();
    await Promise.resolve();
    expect(isFollowed()).toBe(false);
    node.keepAlive();
    expect(isFollowed()).toBe(false);
  });

  it('has none either once it is lost', async () => {
    const { node, isFollowed } = await setUp();
    node.lose(new Error('gone'));
    await Promise.resolve();
    expect(isFollowed()).toBe(false);
  });

  it('is no longer held from the moment at which it is released, whatever a heartbeat says that comes after', async () => {
    const { clock, node } = await setUp();
    const confirmed: number[] = [];
    node.whenConfirmed(() => confirmed.push(clock.now()));
    expect(node.isHeld()).toBe(true);
    node.release();
    expect(node.isHeld()).toBe(false);
    node.confirmed(leaseStart(clock));
    expect(node.isHeld()).toBe(false);
    expect(confirmed).toEqual([]);
  });
});
