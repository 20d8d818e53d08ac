import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { observed } from '../../../../src/election/takeover/lease-observation.js';
import { takeoverDelayMs } from '../../../../src/election/term/takeover-delay.js';
import { type Sign, tombstoneStep } from '../../../../src/shards/members/silence.js';

const LEASE_MS = 2000;
const DELAY_MS = takeoverDelayMs(LEASE_MS);

describe('a member’s tombstone', () => {
  it('comes when no new version was seen for a delay, and says which one', () => {
    const sign: Sign = {
      name: 'beating',
      observation: { version: 7, zxid: 20n, since: 100, readAt: 90, connection: 1 },
    };
    expect(tombstoneStep(sign, LEASE_MS, 100 + DELAY_MS - 1)).toEqual({ kind: 'wait', ms: 1 });
    expect(tombstoneStep(sign, LEASE_MS, 100 + DELAY_MS)).toEqual({ kind: 'silent', version: 7 });
  });

  it('comes when it has been gone for a delay', () => {
    const sign: Sign = { name: 'gone', since: 100 };
    expect(tombstoneStep(sign, LEASE_MS, 100 + DELAY_MS - 1)).toEqual({ kind: 'wait', ms: 1 });
    expect(tombstoneStep(sign, LEASE_MS, 100 + DELAY_MS)).toEqual({ kind: 'gone' });
  });

  it('doesn’t come as long as no version was seen', () => {
    expect(tombstoneStep({ name: 'beating' }, LEASE_MS, 1e9)).toEqual({ kind: 'look' });
  });

  it('never comes while a lease may last, whenever heartbeats were sent and looks answered', () => {
    const beat = fc.record({ sent: fc.nat(5000), takes: fc.nat(2000) });
    const look = fc.record({ sent: fc.nat(12_000), takes: fc.nat(500) });
    fc.assert(
      fc.property(fc.array(beat, { minLength: 1 }), fc.array(look, { minLength: 1 }), (beats, looks) => {
        const committed = beats.map(({ sent, takes }) => sent + takes).sort((one, other) => one - other);
        const versionAt = (at: number) => committed.filter((each) => each <= at).length - 1;
        const leaseEndsAt = Math.max(...beats.map(({ sent }) => sent)) + LEASE_MS;
        const answers = looks
          .map(({ sent, takes }) => ({ readAt: sent, now: sent + takes }))
          .sort((one, other) => one.now - other.now);
        let sign: Sign = { name: 'beating' };
        for (const { readAt, now } of answers) {
          const version = versionAt(readAt);
          if (version < 0) continue;
          const stat = { version, mzxid: BigInt(version) };
          sign = {
            name: 'beating',
            observation: observed(sign.observation, stat, { readAt, now, connection: 1 }),
          };
        }
        const since = sign.observation?.since ?? 0;
        const step = tombstoneStep(sign, LEASE_MS, since + DELAY_MS);
        // The servers refuse what says another version than the last one.
        const isCarriedOut = step.kind === 'silent' && step.version === committed.length - 1;
        if (isCarriedOut) expect(since + DELAY_MS).toBeGreaterThan(leaseEndsAt);
      }),
    );
  });
});
