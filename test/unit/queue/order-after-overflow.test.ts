import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEntry } from '../../../src/queue/names-and-order.js';
import { inCreationOrder } from '../../../src/queue/order-after-overflow.js';
import type { Session } from '../../../src/session/session.js';

const uuidOf = (digit: string) => `01234567-89ab-cdef-0123-45678${digit.repeat(7)}`;
const namesOf = (digit: string) => (number: string) => `_c_${uuidOf(digit)}-lock-${number}`;
const [A, B, C, D] = [namesOf('a'), namesOf('b'), namesOf('c'), namesOf('d')];
const LAST = '2147483647';

/** A session that knows when each node was created, and counts the requests. */
function setUp(born: Record<string, bigint>) {
  const asked: string[] = [];
  const session = {
    retryUntilAnswered: <T>(operation: () => Promise<T>) => operation(),
    exists: async (path: string) => {
      asked.push(path);
      const czxid = born[path];
      return czxid === undefined ? undefined : { czxid };
    },
  };
  const order = async (children: string[], own?: string) => {
    const entries = await inCreationOrder(
      session as unknown as Session,
      '/queue',
      children,
      parseEntry,
      own === undefined ? undefined : parseEntry(own),
    );
    return entries.map(({ node }) => node);
  };
  return { asked, order };
}

describe('the order of creation', () => {
  it('is that of the numbers, without asking, where these show it', async () => {
    const { asked, order } = setUp({});
    expect(await order([B('0000000002'), 'config', A('0000000001'), C('2147483646')])).toEqual([
      A('0000000001'),
      B('0000000002'),
      C('2147483646'),
    ]);
    expect(asked).toEqual([]);
  });

  it('is that of the transactions which created the nodes where one number does not show it', async () => {
    const [a, b, c, d] = [A(LAST), B(LAST), C('2147483646'), D('-2147483648')];
    const { asked, order } = setUp({
      [`/queue/${a}`]: 5n,
      [`/queue/${b}`]: 3n,
      [`/queue/${c}`]: 2n ** 40n,
      [`/queue/${d}`]: 4n,
    });
    expect(await order([a, b, c, d])).toEqual([b, d, a, c]);
    expect(await order([d, c, b, a])).toEqual([b, d, a, c]);
    expect(asked).toHaveLength(8);
  });

  it('is that of the numbers for a contender whose own number shows it, whatever the others are called', async () => {
    const { asked, order } = setUp({});
    const [own, ahead] = [B('0000000002'), A('0000000001')];
    const ordered = await order([C(LAST), D('-2147483648'), own, ahead], own);
    expect(ordered.slice(0, 2)).toEqual([ahead, own]);
    expect(asked).toEqual([]);
  });

  it('is that of the numbers a server gave, whatever numbers others have made up', async () => {
    const real = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 12 });
    const madeUp = fc.array(
      fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.integer({ min: -4, max: 40 })),
      { maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(real, madeUp, fc.nat(), async (numbers, others, which) => {
        const { order } = setUp({});
        const own = numbers[which % numbers.length] as number;
        const nameOf = (number: number) =>
          number < 0 ? `-${String(-number).padStart(9, '0')}` : String(number).padStart(10, '0');
        const children = [...others.map((number) => B(nameOf(number))), ...numbers.map((n) => A(nameOf(n)))];
        const ordered = await order(children, A(nameOf(own)));
        const ahead = ordered.slice(0, ordered.indexOf(A(nameOf(own))));
        const expected = numbers.filter((number) => number < own).sort((a, b) => a - b);
        expect(ahead.filter((node) => node.includes(uuidOf('a')))).toEqual(
          expected.map((number) => A(nameOf(number))),
        );
      }),
      { examples: [[[0, 1, 2], [0, 0, 1210371448, -937112201, 0, -1], 1]] },
    );
  });

  it('is without those that are gone when they are asked about', async () => {
    const { order } = setUp({ [`/queue/${B(LAST)}`]: 3n });
    expect(await order([A(LAST), B(LAST)])).toEqual([B(LAST)]);
  });
});
