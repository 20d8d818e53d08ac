import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  assignSlots,
  colorSlotsOf,
  memberStyle,
} from '../../../../../src/dashboard/page/model/member-colors.js';

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

it('members of a group keep their colors until the group is gone, which is forgotten then', () => {
  const group = (path: string, ...ids: string[]) => {
    const members = ids.map((id) => ({ id, node: id, weight: 1, planner: false }));
    return { path, members };
  };
  const before = colorSlotsOf([group('/a', 'one', 'two'), group('/b', 'one')]);
  const after = colorSlotsOf([group('/a', 'two')], before);
  expect([...after.keys()]).toEqual(['/a']);
  expect([...(after.get('/a') ?? [])]).toEqual([['two', 1]]);
});

it('twenty-seven members look different, in both schemes', () => {
  for (const isDark of [false, true]) {
    const looks = Array.from({ length: 27 }, (_, slot) => JSON.stringify(memberStyle(slot, isDark)));
    expect(new Set(looks).size).toBe(27);
  }
});
