import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  credentialsOf,
  granted,
  isKnown,
  newIdentity,
  withoutCredentials,
  withZxidsOf,
} from '../../../src/session/id-and-password.js';

const asked = { sessionTimeoutMs: 6000, leaseMs: undefined };
const open = (timeoutMs = 6000) => ({ id: 7n, password: Buffer.alloc(16, 1), timeoutMs });
const passwords = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes));
const ids = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).filter((id) => id !== 0n);
const timeouts = fc.integer({ min: 1, max: 100_000 });
const zxids = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });

describe("a session's identity", () => {
  it('is unknown to the servers until one has given it an id', () => {
    const identity = newIdentity(asked);
    expect(isKnown(identity)).toBe(false);
    expect(identity).toMatchObject({ sessionTimeoutMs: 6000, leaseMs: 2000, lastZxid: 0n, repliedZxid: 0n });
    expect(isKnown(granted(identity, open(), asked))).toBe(true);
  });

  it('keeps every byte of the password', () => {
    fc.assert(
      fc.property(ids, passwords, (id, password) => {
        expect(credentialsOf(newIdentity(asked, { id, password }))).toEqual({ id, password });
        const identity = granted(newIdentity(asked), { id, password, timeoutMs: 6000 }, asked);
        expect(credentialsOf(identity)).toEqual({ id, password });
      }),
    );
  });

  it('has a lease that fits the granted session timeout, and never grows', () => {
    fc.assert(
      fc.property(
        fc.array(timeouts, { minLength: 1, maxLength: 5 }),
        fc.option(timeouts, { nil: undefined }),
        (grants, leaseMs) => {
          const given = { ...asked, leaseMs };
          let identity = newIdentity(given);
          let longestMs = Number.POSITIVE_INFINITY;
          for (const timeoutMs of grants) {
            identity = granted(identity, open(timeoutMs), given);
            expect(identity.sessionTimeoutMs).toBe(timeoutMs);
            expect(identity.leaseMs).toBeLessThan(timeoutMs);
            expect(identity.leaseMs).toBeLessThanOrEqual(longestMs);
            longestMs = identity.leaseMs;
          }
        },
      ),
    );
  });

  it('has the lease that was asked for, if that is under the granted session timeout, and else a third of it', () => {
    const lease = (leaseMs: number | undefined, timeoutMs: number) => {
      const given = { ...asked, leaseMs };
      return granted(newIdentity(given), open(timeoutMs), given).leaseMs;
    };
    expect([lease(undefined, 9000), lease(2500, 9000), lease(2500, 2500)]).toEqual([3000, 2500, 2500 / 3]);
  });

  it('remembers the greatest zxid of all connections, and what was answered over the last one', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ lastZxid: zxids, repliedZxid: zxids }), { minLength: 1 }), (seen) => {
        const { lastZxid, repliedZxid } = seen.reduce(withZxidsOf, newIdentity(asked));
        expect(lastZxid).toBe(seen.map((each) => each.lastZxid).reduce((a, b) => (a > b ? a : b)));
        expect(repliedZxid).toBe(seen.at(-1)?.repliedZxid);
      }),
    );
  });

  it('is unknown again after a server has closed the session, and still knows the newest zxid', () => {
    const identity = newIdentity(asked, open());
    const closed = withoutCredentials(withZxidsOf(identity, { lastZxid: 5n, repliedZxid: 4n }));
    expect(isKnown(closed)).toBe(false);
    expect(credentialsOf(closed).password).toEqual(Buffer.alloc(16));
    expect(closed).toMatchObject({ lastZxid: 5n, repliedZxid: 0n });
  });
});
