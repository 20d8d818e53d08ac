import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  forEachOf,
  hasMember,
  inBatches,
  LinkedList,
  type LinkedListNode,
  membersOf,
  type SmallSet,
  sizeOf,
  withMember,
  withoutMember,
} from '../../../../src/platform/collections/lists-and-sets.js';

class Member implements LinkedListNode<Member> {
  before: Member | undefined;
  after: Member | undefined;
}

/** The members from the first to the last, and from the last to the first. */
function walk(chain: LinkedList<Member>): { there: Member[]; back: Member[] } {
  const there: Member[] = [];
  for (let member = chain.first; member !== undefined; member = member.after) there.push(member);
  const back: Member[] = [];
  for (let member = there.at(-1); member !== undefined; member = member.before) back.unshift(member);
  return { there, back };
}

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('append' as const), index: fc.nat(7) }),
    fc.record({ kind: fc.constant('remove' as const), index: fc.nat(7) }),
    fc.record({ kind: fc.constant('shift' as const), index: fc.constant(0) }),
  ),
);

describe('a chain', () => {
  it('has the members, in the order, that a set has', () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const members = Array.from({ length: 8 }, () => new Member());
        const chain = new LinkedList<Member>();
        const model = new Set<Member>();
        for (const { kind, index } of taken) {
          const member = members[index] as Member;
          if (kind === 'append' && !model.has(member)) {
            chain.append(member);
            model.add(member);
          }
          if (kind === 'remove') {
            chain.remove(member);
            model.delete(member);
          }
          if (kind === 'shift') {
            const [first] = model;
            expect(chain.shift()).toBe(first);
            if (first !== undefined) model.delete(first);
          }
          expect(walk(chain)).toEqual({ there: [...model], back: [...model] });
          expect(chain.first).toBe([...model][0]);
        }
      }),
    );
  });

  it('keeps nothing of one that has left', () => {
    const [one, other] = [new Member(), new Member()];
    const chain = new LinkedList<Member>();
    chain.append(one);
    chain.append(other);
    chain.remove(one);
    expect(one).toEqual(new Member());
    expect(other.before).toBeUndefined();
  });
});

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

describe('a list in batches', () => {
  it('is the same list, in full batches but for the last one', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 12 }), (all, most) => {
        const batches = inBatches(all, most);
        expect(batches.flat()).toEqual(all);
        expect(batches.slice(0, -1).every(({ length }) => length === most)).toBe(true);
        expect(batches.every(({ length }) => length > 0 && length <= most)).toBe(true);
      }),
    );
  });
});
