import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LinkedList, type LinkedListNode } from '../../../../src/platform/collections/linked-list.js';

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
