import { describe, expect, it } from 'vitest';
import { NoNodeError, ZooKeeperError } from '../../../src/errors.js';
import { HeartbeatNode } from '../../../src/lease/heartbeat-node.js';
import type { PartResult, Stat } from '../../../src/session/protocol/multi-and-stats.js';

const RAISE = { kind: 'set', path: '/h', data: Buffer.alloc(0) };
const DELETION = { kind: 'delete', path: '/h' };
const missing = (operation = 'multi[set]') => new NoNodeError(-101, 'NO_NODE', operation, '/chroot/h');
const denied = () => new ZooKeeperError(-102, 'NO_AUTH', 'multi[set]', '/chroot/h');
const raisedTo = (version: number) => ({ stat: { version } as Stat }) satisfies PartResult;

function setUp() {
  const reasons: string[] = [];
  const node = new HeartbeatNode('/h', '/chroot/h', (why) => void reasons.push(why));
  return { node, reasons };
}

describe('the heartbeat node of a candidate', () => {
  it('is raised by each proof, in transactions with and without the chroot', () => {
    const { node } = setUp();
    expect(node.raise).toEqual(RAISE);
    expect(node.absoluteRaise(false)).toEqual({ ...RAISE, path: '/chroot/h' });
    expect(node.absoluteRaise(true)).toEqual({ ...RAISE, path: '/chroot/h', data: Buffer.from([1]) });
    expect(node.deletion).toEqual([DELETION]);
  });

  it('shows the lease of each version, also if the answer to an earlier write is handled later', () => {
    const { node, reasons } = setUp();
    expect([
      node.written(raisedTo(1), 6n),
      node.written(raisedTo(3), 8n),
      node.written(raisedTo(2), 7n),
    ]).toEqual([true, true, true]);
    expect(reasons).toEqual([]);
  });

  it('shows that the data of the servers went back if its version does not rise', () => {
    for (const next of [5, 4, 0, -2_147_483_648]) {
      const { node, reasons } = setUp();
      node.written(raisedTo(5), 6n);
      expect(node.written(raisedTo(next), 7n)).toBe(false);
      expect(reasons).toEqual([expect.stringContaining("the servers' data was restored from a backup")]);
    }
  });

  it('proves nothing any more when another client has deleted it, and is not deleted again', () => {
    const { node, reasons } = setUp();
    node.refused(missing());
    expect(reasons).toEqual(['/h was deleted by another client']);
    expect(node.deletion).toEqual([]);
  });

  it('proves nothing any more when it can not be written, and is deleted with its candidate', () => {
    const { node, reasons } = setUp();
    node.refused(denied());
    expect(reasons).toEqual([expect.stringContaining('no heartbeat can be written to /h')]);
    expect(node.deletion).toEqual([DELETION]);
  });

  it('is left out of a release that was refused because it is gone', () => {
    const { node, reasons } = setUp();
    expect([node.deletionRefused(missing()), node.deletion]).toEqual([false, [DELETION]]);
    expect([node.deletionRefused(missing('multi[delete]')), node.deletion]).toEqual([true, []]);
    expect(reasons).toEqual([]);
  });

  it('is told from the other nodes of a transaction that was refused', () => {
    const { node } = setUp();
    expect([node.raiseRefused(missing()), node.raiseRefused(denied())]).toEqual([true, true]);
    expect(node.raiseRefused(new NoNodeError(-101, 'NO_NODE', 'multi[set]', '/record'))).toBe(false);
    expect(node.raiseRefused(new Error('lost'))).toBe(false);
  });
});
