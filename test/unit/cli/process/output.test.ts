import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { durationText } from '../../../../src/cli/process/output.js';

const UNITS_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

function lengthOf(text: string): number {
  const parts = text.split(' ').map((part) => /^(\d+)([a-z]+)$/.exec(part) as RegExpExecArray);
  return parts.reduce(
    (sum, [, number, unit]) => sum + Number(number) * (UNITS_MS[unit as string] as number),
    0,
  );
}

describe('a length of time in words', () => {
  it.each([
    [0, '0ms'],
    [999.9, '999ms'],
    [1000, '1s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [125_000, '2m 5s'],
    [3_600_000, '1h'],
    [3 * 86_400_000 + 4 * 3_600_000 + 59_000, '3d 4h'],
    [86_400_000 + 59_000, '1d'],
  ])('of %d ms is %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  it('is rounded down, by less than its second unit', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31 - 1), (ms) => {
        const said = lengthOf(durationText(ms));
        expect(said).toBeLessThanOrEqual(ms);
        expect(ms - said).toBeLessThan(Math.max(1000, ms / 24));
        expect(lengthOf(durationText(said))).toBe(said);
      }),
    );
  });
});
