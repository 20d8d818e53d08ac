import { expect, it } from 'vitest';
import { LeaseCell } from '../../src/lease/lease-in-shared-memory.js';
import { ignore } from '../../src/platform/async/promises.js';
import { type Given, Repeater } from '../../src/session/connection-thread/heartbeat-repeater.js';
import { StallWatch } from '../../src/session/connection-thread/stall-watch.js';
import { ProofBatch, type ProvenNode } from '../../src/session/keep-alive/heartbeat-batch.js';
import { simulate } from './run.js';
import { findEach, replace } from './wrong.js';

it('the simulation of stalled main threads finds nothing wrong', async () => {
  const { violations, counts } = await simulate({
    ...{ seed: 1, hours: 0.2, rules: 'shipped', faultRate: 'stalls' },
  });
  expect(violations).toEqual([]);
  expect(counts.get('leases extended while the main thread stood still')).toBeGreaterThan(0);
  expect(counts.get('heartbeats of threads')).toBeGreaterThan(0);
}, 120_000);

/** Replaces what the thread is given. @param former - what it was given before */
function giveInstead(wrong: (given: Given, former: Given | undefined) => Given) {
  const given = new WeakMap<Repeater, Given>();
  return replace(
    Repeater.prototype,
    'give',
    (right) =>
      function (this: Repeater, next: Given | undefined) {
        const instead = next && wrong(next, given.get(this));
        if (instead !== undefined) given.set(this, instead);
        right.call(this, instead);
      },
  );
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
    hint: 19,
    found: /^repeat: .* has not begun$/,
    faultRate: 'stalls',
    make: () =>
      giveInstead((given) => ({
        ...given,
        heartbeats: given.heartbeats.map((each) => ({ ...each, isForHeld: true })),
      })),
  },
  {
    what: 'a thread that goes on repeating heartbeats behind a release',
    hint: 1,
    found: /^repeat: .* behind its release$/,
    faultRate: 'stalls',
    make: () =>
      giveInstead((given, former) =>
        former === undefined || given.heartbeats.some(({ isForHeld }) => isForHeld) ? given : former,
      ),
  },
  {
    what: 'a thread whose heartbeats check the node, and raise no version',
    hint: 2,
    found: /^two leaders: /,
    faultRate: 'stalls',
    make: () =>
      replace(
        ProofBatch.prototype,
        'given',
        (right) =>
          function (this: ProofBatch, idOf, isForHeld) {
            const real = new Map<ProvenNode, ProvenNode>();
            for (const node of this.nodes) {
              const { absolutePath, extendedByThread = [] } = node;
              real.set(
                { absolutePath, extendedByThread, confirmed: ignore, gone: ignore, unreadable: ignore },
                node,
              );
            }
            const [batch = this] = ProofBatch.of([...real.keys()]);
            return right.call(batch, (node) => idOf(real.get(node) as ProvenNode), isForHeld);
          },
      ),
  },
]);
