import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  forEachOf,
  hasMember,
  membersOf,
  type SmallSet,
  sizeOf,
  withMember,
  withoutMember,
} from '../../../../src/platform/collections/small-set.js';

const members = Array.from({ length: 4 }, (_, name) => ({ name }));

function all(few: SmallSet<object>): object[] {
  const found: object[] = [];
  forEachOf(few, (member) => found.push(member));
  return found;
}

describe('a set that mostly has one member', () => {
  it('has the members that a set would have, in the same order', () => {
    const steps = fc.array(
      fc.record({ member: fc.constantFrom(...members), how: fc.constantFrom('add', 'delete') }),
    );
    fc.assert(
      fc.property(steps, (asked) => {
        let few: SmallSet<object>;
        const set = new Set<object>();
        for (const { member, how } of asked) {
          few = how === 'add' ? withMember(few, member) : withoutMember(few, member);
          if (how === 'add') set.add(member);
          else set.delete(member);
          expect(all(few)).toEqual([...set]);
          expect(membersOf(few)).toEqual([...set]);
          for (const each of members) expect(hasMember(few, each)).toBe(set.has(each));
          expect(sizeOf(few)).toBe(set.size);
          expect(few === undefined).toBe(set.size === 0);
        }
      }),
    );
  });

  it('calls for no member that was taken out meanwhile', () => {
    const [a, b, c] = members as [object, object, object];
    let few: SmallSet<object> = withMember(withMember(withMember(undefined, a), b), c);
    const called: object[] = [];
    forEachOf(few, (member) => {
      called.push(member);
      few = withoutMember(few, b);
    });
    expect(called).toEqual([a, c]);
  });
});
