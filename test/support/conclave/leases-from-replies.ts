import { OwnNode } from '../../../src/lease/own-node.js';
import { type LeaseInstant, leaseStart, SystemClock } from '../../../src/platform/time/clock.js';

/** From now on all leases of this process count from when a reply comes, and not from when the heartbeat was sent. That is wrong. */
export function countLeasesFromReplies(): void {
  const clock = new SystemClock();
  const prototype = OwnNode.prototype as unknown as { extendLease(sentAt: LeaseInstant): void };
  const { extendLease } = prototype;
  prototype.extendLease = function () {
    extendLease.call(this, leaseStart(clock));
  };
}
