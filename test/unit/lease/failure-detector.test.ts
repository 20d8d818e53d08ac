import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterRead,
  leftMs,
  MISSING,
  mayBeReplaced,
  type Sign,
  takeoverDelayMs,
  UNSEEN,
} from '../../../src/lease/failure-detector.js';

const LEASE_MS = 2000;
const DELAY_MS = takeoverDelayMs(LEASE_MS);
const BEATING = { name: 'beating', version: 3, zxid: 10n, since: 140, readAt: 100, connection: 1 } as const;

describe('the takeover delay', () => {
  it('outlasts the former lease whenever the two clocks run at rates within 1 % of each other', () => {
    const rate = fc.double({ min: 0.99, max: 1.01, noNaN: true });
    const ms = fc.double({ min: 0, max: 120_000, noNaN: true });
    fc.assert(
      fc.property(ms, rate, rate, ms, ms, (leaseMs, ofHolder, ofObserver, sentAt, laterMs) => {
        // In real time: the observer sees the heartbeat's version after its sending, and counts by its own clock.
        const left = leftMs({ name: 'gone', since: 0 }, { leaseMs }, 0);
        expect(sentAt + laterMs + left / ofObserver).toBeGreaterThan(sentAt + leaseMs / ofHolder);
      }),
    );
  });

  it('counts from the first answer with that version, and from the answer that has shown the end of the node', () => {
    expect(leftMs(BEATING, { leaseMs: LEASE_MS }, 140)).toBe(DELAY_MS);
    expect(leftMs({ name: 'gone', since: 100 }, { leaseMs: LEASE_MS }, 100 + DELAY_MS)).toBe(0);
    expect(leftMs(UNSEEN, { leaseMs: LEASE_MS }, 1e9)).toBe(Number.POSITIVE_INFINITY);
  });

  it('is longer where the one that waits wants that, and never shorter', () => {
    const left = (more: object) => leftMs(BEATING, { leaseMs: LEASE_MS, ...more }, 140);
    expect([left({ leastMs: 5000 }), left({ leastMs: 1 })]).toEqual([5000, DELAY_MS]);
  });

  it('is left to each of those that come before', () => {
    expect(leftMs(BEATING, { leaseMs: LEASE_MS, rank: 1 }, 140)).toBe(2 * DELAY_MS);
  });
});

describe('what was seen of a heartbeat node', () => {
  const FIRST = { readAt: 100, now: 140, connection: 1 };
  const LATER = { readAt: 600, now: 640, connection: 2 };

  it('counts from when the answer came that first showed its version, not from when it was asked for', () => {
    const first = afterRead(UNSEEN, { version: 3, mzxid: 10n }, FIRST);
    expect(first).toEqual(BEATING);
    expect(afterRead(first, { version: 3, mzxid: 10n }, LATER)).toEqual({
      ...BEATING,
      readAt: 600,
      connection: 2,
    });
    expect(afterRead(first, { version: 4, mzxid: 11n }, LATER)).toMatchObject({ version: 4, since: 640 });
  });

  it('begins anew with a version that comes again by another transaction, as in a restored backup', () => {
    expect(afterRead(BEATING, { version: 3, mzxid: 12n }, LATER)).toMatchObject({ zxid: 12n, since: 640 });
  });

  it('is a version, too, where the node is missing: it is never made again', () => {
    const missing = afterRead(BEATING, undefined, LATER);
    expect(missing).toMatchObject({ name: 'beating', version: MISSING, since: 640 });
    expect(afterRead(missing, undefined, { ...LATER, now: 900 })).toMatchObject({ since: 640 });
  });

  it('is nothing where the version is negative, after 2^31 heartbeats', () => {
    expect(afterRead(BEATING, { version: -1, mzxid: 12n }, LATER)).toEqual(UNSEEN);
  });

  it('never leads to a claim that is carried out while a lease may last, whenever heartbeats were sent and reads answered', () => {
    const beat = fc.record({ sent: fc.nat(5000), takes: fc.nat(2000) });
    const look = fc.record({ sent: fc.nat(12_000), takes: fc.nat(500) });
    fc.assert(
      fc.property(fc.array(beat, { minLength: 1 }), fc.array(look, { minLength: 1 }), (beats, looks) => {
        const committed = beats.map(({ sent, takes }) => sent + takes).sort((one, other) => one - other);
        const versionAt = (at: number) => committed.filter((each) => each <= at).length - 1;
        const leaseEndsAt = Math.max(...beats.map(({ sent }) => sent)) + LEASE_MS;
        const answers = looks
          .map(({ sent, takes }) => ({ readAt: sent, now: sent + takes, connection: 1 }))
          .sort((one, other) => one.now - other.now);
        let sign: Sign = UNSEEN;
        for (const read of answers) {
          const version = versionAt(read.readAt);
          if (version >= 0) sign = afterRead(sign, { version, mzxid: BigInt(version) }, read);
        }
        // The servers refuse a claim that names another version than the last one.
        if (sign.name !== 'beating' || sign.version !== committed.length - 1) return;
        const claimedAt = sign.since + leftMs(sign, { leaseMs: LEASE_MS }, sign.since);
        expect(claimedAt).toBeGreaterThan(leaseEndsAt);
      }),
    );
  });
});

describe('a node of the own session', () => {
  const node = (remaining: number, proofAge: number) => ({
    leaseMs: LEASE_MS,
    remainingAtMostMs: () => remaining,
    proofAgeMs: () => proofAge,
  });

  it('may be replaced when its lease has been over for so long that the delay is over, too', () => {
    expect(mayBeReplaced(node(1, LEASE_MS - 1))).toBe(false);
    expect(mayBeReplaced(node(0, DELAY_MS - 1))).toBe(false);
    expect(mayBeReplaced(node(0, DELAY_MS))).toBe(true);
  });
});
