import { describe, expect, it } from 'vitest';
import { cooldownAfter, countLostTerms } from '../../../../src/cluster/supervisor/lost-term-cooldown.js';
import type { DemotionReason } from '../../../../src/errors.js';

describe('terms that are lost in a row', () => {
  const term = (reason: DemotionReason, lastedMs: number) => ({ reason, lastedMs, sessionTimeoutMs: 6000 });

  it.each<[number, DemotionReason, number, number]>([
    [0, 'lease-expired', 10, 1],
    [1, 'session-expired', 59_999, 2],
    [5, 'node-deleted', 0, 6],
    [5, 'lease-expired', 60_000, 1],
    [5, 'resigned', 10, 0],
    [5, 'finished', 10, 0],
    [5, 'revoked', 10, 0],
    [5, 'stopped', 10, 0],
  ])('after %i of them and one that ended as %s after %i ms are %i', (before, reason, lastedMs, after) => {
    expect(countLostTerms(before, term(reason, lastedMs))).toBe(after);
  });

  it('are followed by a pause that grows, from the second on', () => {
    const pauses = [0, 0, 1000, 2000, 4000, 8000, 8000];
    expect(pauses.map((_, losses) => cooldownAfter(losses, 0))).toEqual(pauses);
    expect(pauses.map((_, losses) => cooldownAfter(losses, 0.5))).toEqual(
      pauses.map((pause) => pause * 1.25),
    );
  });
});
