import { expect, it } from 'vitest';
import type { NodeWithHeartbeat } from '../../src/lease/node-with-heartbeat.js';
import { OwnNode } from '../../src/lease/own-node.js';
import { LeaseCell, SharedLease } from '../../src/lease/shared-lease.js';
import { machineInstantIn } from '../../src/platform/time/machine-instant.js';
import {
  type Given,
  HeartbeatRepeater,
  type HeldNode,
} from '../../src/session/connection-thread/heartbeat-repeater.js';
import { StallWatch } from '../../src/session/connection-thread/stall-watch.js';
import { SimulatedThread } from './candidates/thread.js';
import { simulate } from './run.js';
import { lateRepliesOf } from './stall-faults.js';
import { findEach, replace } from './wrong.js';

it('the simulation of stalled main threads finds nothing wrong', async () => {
  const { violations, counts } = await simulate({
    ...{ seed: 1, hours: 0.2, rules: 'shipped', faultRate: 'stalls' },
  });
  expect(violations).toEqual([]);
  expect(counts.get('leases extended while the main thread stood still')).toBeGreaterThan(0);
  expect(counts.get('heartbeats of threads')).toBeGreaterThan(0);
}, 120_000);

/** Replaces what the thread is given. */
function giveInstead(wrong: (given: Given) => Given) {
  return replace(
    HeartbeatRepeater.prototype,
    'give',
    (right) =>
      function (this: HeartbeatRepeater, next: Given | undefined) {
        right.call(this, next && wrong(next));
      },
  );
}

/** The node as if its heartbeat had only its first part, the check. */
function withoutRaise(node: HeldNode): HeldNode {
  const frame = Buffer.from(node.frame);
  const pathAt = 4 + 8 + 9; // Behind the length, the header, and the header of the part.
  const end = pathAt + 4 + frame.readInt32BE(pathAt) + 4;
  const check = Buffer.concat([frame.subarray(0, end), frame.subarray(-9)]);
  check.writeInt32BE(check.length - 4, 0);
  return { ...node, frame: check, parts: 1, raisedBy: undefined };
}

findEach([
  {
    what: 'a thread that repeats heartbeats for a main thread that never goes on',
    hint: 4,
    found: /^(stall|takeover): /,
    faultRate: 'stalls',
    make: () => replace(StallWatch.prototype, 'turns', () => () => true),
  },
  {
    what: 'a cell whose readers ignore why the term is over',
    hint: 1,
    found: /^(lease|two leaders): /,
    faultRate: 'stalls',
    make: () =>
      replace(LeaseCell.prototype, 'isHeld', () => {
        return function (this: LeaseCell) {
          return this.lease.leftMs() > 0;
        };
      }),
  },
  {
    what: 'a thread that sends a heartbeat for a main thread that has stood still for too long',
    hint: 4,
    found: /^repeat: .* after the last turn$/,
    faultRate: 'stalls',
    make: () => replace(StallWatch.prototype, 'turns', () => () => true),
  },
  {
    what: 'a thread that repeats the heartbeats of a candidate that waits, and has claimed a term or was handed one',
    hint: 31,
    found: /^repeat: .* has not begun$/,
    faultRate: 'stalls',
    make: () => {
      const right = Object.getOwnPropertyDescriptor(OwnNode.prototype, 'extendedByThread') ?? {};
      Object.defineProperty(OwnNode.prototype, 'extendedByThread', {
        ...right,
        get(this: NodeWithHeartbeat) {
          const held: readonly SharedArrayBuffer[] = right.get?.call(this);
          return held.length > 0 || this.record === undefined
            ? held
            : [new SharedArrayBuffer(SharedLease.BYTES)];
        },
      });
      return () => Object.defineProperty(OwnNode.prototype, 'extendedByThread', right);
    },
  },
  {
    what: 'a thread that goes on repeating heartbeats behind a release',
    hint: 1,
    found: /^repeat: .* behind its release$/,
    faultRate: 'stalls',
    make: () => giveInstead((given) => ({ ...given, released: [] })),
  },
  {
    what: 'a thread whose leases count from the replies',
    hint: 27,
    found: /^two leaders: /,
    faultRate: 'stalls',
    canShow: (seed) => lateRepliesOf(seed) !== undefined,
    make: () =>
      replace(
        SimulatedThread.prototype,
        'proved',
        (right) =>
          function (this: SimulatedThread, lease) {
            const now = machineInstantIn(() => 0, this.machine.sources);
            right.call(this, lease, now);
          },
      ),
  },
  {
    what: 'a thread whose heartbeats check the node, and raise no version',
    hint: 2,
    found: /^two leaders: /,
    faultRate: 'stalls',
    make: () =>
      // It doesn't wait for the main thread's either.
      giveInstead((given) => ({ ...given, heartbeats: [], held: given.held.map(withoutRaise) })),
  },
]);
