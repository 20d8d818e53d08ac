import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareSequences,
  earliestBut,
  entryPrefix,
  isOverflowed,
  lockEntryParser,
  parseEntry,
  parseLockEntry,
  type QueueEntry,
  queueOf,
  withoutLater,
} from '../../../src/queue/names-and-order.js';
import { childNames } from '../../support/conclave/child-names.js';

const UUID = '01234567-89ab-cdef-0123-456789abcdef';

/** A name as the server completes it: with `%010d` of a signed 32-bit number. */
function nameOf(sequence: number, id = UUID, purpose?: QueueEntry['purpose']): string {
  const digits = String(Math.abs(sequence));
  return entryPrefix(id, purpose) + (sequence < 0 ? `-${digits.padStart(9, '0')}` : digits.padStart(10, '0'));
}

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });

describe('the list without the contenders that surely came later', () => {
  const number = fc.oneof(
    int32,
    fc.integer({ min: 0, max: 20 }),
    fc.integer({ min: 2 ** 31 - 4, max: 2 ** 31 - 1 }),
  );
  const name = fc.tuple(fc.uuid(), number).map(([uuid, sequence]) => nameOf(sequence, uuid));
  const children = fc.array(fc.oneof(name, fc.string(), fc.constant('9999999999')), { maxLength: 30 });

  it('keeps every contender that could be ahead, and all of them where the numbers do not show the order', () => {
    fc.assert(
      fc.property(children, name, (others, own) => {
        const entry = parseEntry(own) as QueueEntry;
        const all = [...others, own];
        const left = childNames(all).strings(withoutLater(entry));
        expect(left).toContain(own);
        expect(left.filter((node) => !all.includes(node))).toEqual([]);
        const gone = all.filter((node) => !left.includes(node)).map((node) => parseEntry(node));
        for (const each of gone) {
          if (each === undefined) continue;
          expect(isOverflowed(entry)).toBe(false);
          expect(compareSequences(each.sequence, entry.sequence)).toBeGreaterThan(0);
        }
      }),
    );
  });

  it('leaves out nearly all in a long queue that has moved on', () => {
    const queue = Array.from({ length: 1000 }, (_, at) => nameOf(at, randomUUID()));
    const third = parseEntry(queue[2] as string) as QueueEntry;
    expect(childNames(queue).strings(withoutLater(third))).toEqual(queue.slice(0, 3));
  });
});

describe('the list of the earliest contender but one', () => {
  const entries = fc.uniqueArray(
    fc.record({
      id: fc.uuid(),
      number: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 2 ** 31 - 2 })),
    }),
    { minLength: 1, maxLength: 8, selector: ({ id }) => id },
  );

  it('has the first of the others, also where several have the same number', () => {
    fc.assert(
      fc.property(entries, fc.nat(), (given, at) => {
        const all = given.map(({ id, number }) => nameOf(number, id));
        const except = parseEntry(all[at % all.length] as string) as QueueEntry;
        const others = all.filter((node) => node !== except.node);
        const left = childNames(all).strings(earliestBut(except));
        expect(left).not.toContain(except.node);
        expect(queueOf(left)[0]).toEqual(queueOf(others)[0]);
      }),
    );
  });
});

describe('the order of the queue', () => {
  it('tells contenders of the same number apart by their names, in whatever order they are listed', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.uuid(), { minLength: 2, maxLength: 5 }), (ids) => {
        const names = ids.map((id) => nameOf(0, id));
        const own = parseEntry(names[0] as string) as QueueEntry;
        const order = (listed: string[]) => queueOf(listed).map(({ node }) => node);
        expect(order(names.toReversed())).toEqual(order(names));
        expect(queueOf(names.toReversed(), parseEntry, own)).toEqual(queueOf(names, parseEntry, own));
      }),
    );
  });

  it('accepts the names of Curator and of go-zookeeper', () => {
    expect(parseEntry(`_c_${UUID}-lock-0000000007`)?.sequence).toBe(7);
    expect(parseEntry(`_c_${UUID.replaceAll('-', '')}-lock-0000000007`)?.sequence).toBe(7);
    expect(parseEntry(`_c_${UUID.toUpperCase()}-lock-0000000007`)?.id).toBe(UUID);
  });

  it.each([
    '',
    'lock-0000000001',
    `_c_${UUID}-lock-`,
    `_c_${UUID}-lock-1`,
    `_c_${UUID}-lock-000000000x`,
    `_c_${UUID}-lock-9999999999`,
    `_c_${UUID}-lock-123456789012345678901234567890`,
    `_c_${UUID}-read-0000000001`,
    `_c_${UUID}-LOCK-0000000001`,
    '__proto__',
    '<img onerror=alert(1)>',
  ])('ignores %j, which is not a contender', (name) => {
    expect(parseEntry(name)).toBeUndefined();
  });

  it('does not guess what a contender has come for', () => {
    expect(parseLockEntry(`_c_${UUID}-LOCK-0000000001`)).toBeUndefined();
    expect(parseLockEntry(`_c_${UUID}-__read__0000000001`)).toBeUndefined();
  });

  it.each(['lock', 'read', 'write'] as const)('reads what a contender of a %s has come for', (purpose) => {
    fc.assert(
      fc.property(int32, fc.uuid(), (sequence, id) => {
        const node = nameOf(sequence, id, purpose);
        const entry = { node, id, purpose, sequence };
        expect(parseLockEntry(node)).toEqual(entry);
        expect(parseEntry(node)).toEqual(purpose === 'lock' ? entry : undefined); // Candidates neither read nor write.
      }),
    );
  });

  it('reads names with patterns of other clients, whatever these are made of', () => {
    const parse = lockEntryParser(['__lock__', '(.*)+-', 'lock-']);
    const foreign = (node: string) => parse(node);
    const hex = UUID.replaceAll('-', '');
    const same = { purpose: 'lock', sequence: 12 };
    expect(foreign(`${hex}__lock__0000000012`)).toMatchObject({ ...same, id: hex });
    expect(foreign(`x(.*)+-0000000012`)).toMatchObject({ ...same, id: 'x' });
    expect(foreign('lock-0000000012')).toMatchObject({ ...same, id: '' });
    expect(foreign('x(.*)+--2147483648')).toMatchObject({ sequence: -(2 ** 31) });
    expect(foreign(`_c_${UUID}-__READ__0000000012`)).toMatchObject({ purpose: 'read', id: UUID });
    expect(foreign('x\u2028y__lock__0000000012')).toMatchObject({ ...same, id: 'x\u2028y' });
    expect(foreign('something-else0000000012')).toBeUndefined();
    expect(foreign('__lock__9999999999')).toBeUndefined();
    expect(lockEntryParser([])(`${hex}__lock__0000000012`)).toBeUndefined();
  });

  it('never takes an arbitrary name for anything but what it says', () => {
    fc.assert(fc.property(fc.string(), (name) => parseEntry(name) === undefined || name.startsWith('_c_')));
  });

  it('is the order of creation wherever the counter stands, also when it wraps round on the way', () => {
    fc.assert(
      fc.property(int32, fc.integer({ min: 2, max: 30 }), (first, count) => {
        const created = Array.from({ length: count }, (_, index) => nameOf((first + index) | 0));
        const listed = [...created].sort(() => 0.5 - Math.random());
        expect(queueOf(listed).map(({ node }) => node)).toEqual(created);
      }),
      { examples: [[2 ** 31 - 1, 2]] },
    );
  });

  it('has no node in it that is no contender', () => {
    const [first, second] = [nameOf(1), nameOf(2)];
    const reader = `${entryPrefix(UUID, 'read')}0000000003`;
    expect(queueOf([second, 'config', reader, first]).map(({ node }) => node)).toEqual([first, second]);
    expect(queueOf([reader, '', second], parseLockEntry).map(({ node }) => node)).toEqual([second, reader]);
  });

  it('knows which numbers a server may give twice, or out of order', () => {
    const overflowed = [2 ** 31 - 1, -(2 ** 31), -1].map((number) =>
      isOverflowed(parseEntry(nameOf(number)) as never),
    );
    expect(overflowed).toEqual([true, true, true]);
    expect([0, 1, 2 ** 31 - 2].some((number) => isOverflowed(parseEntry(nameOf(number)) as never))).toBe(
      false,
    );
  });
});
