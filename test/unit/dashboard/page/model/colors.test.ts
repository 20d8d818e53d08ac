import fc from 'fast-check';
import { expect, it } from 'vitest';
import { assignSlots, memberStyle } from '../../../../../src/dashboard/page/model/colors.js';

it('members keep their color while they are there, and no two have the same number', () => {
  const members = fc.uniqueArray(fc.constantFrom(...'abcdefghij'));
  fc.assert(
    fc.property(members, members, (former, next) => {
      const before = assignSlots(new Map(), former);
      const after = assignSlots(before, next);
      expect([...after.keys()].sort()).toEqual([...next].sort());
      expect(new Set(after.values()).size).toBe(next.length);
      for (const member of next) if (before.has(member)) expect(after.get(member)).toBe(before.get(member));
    }),
  );
});

it('twenty-seven members look different, in both schemes', () => {
  for (const isDark of [false, true]) {
    const looks = Array.from({ length: 27 }, (_, slot) => JSON.stringify(memberStyle(slot, isDark)));
    expect(new Set(looks).size).toBe(27);
  }
});
