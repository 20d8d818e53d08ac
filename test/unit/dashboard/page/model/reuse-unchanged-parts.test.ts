import fc from 'fast-check';
import { expect, it } from 'vitest';
import { share } from '../../../../../src/dashboard/page/model/reuse-unchanged-parts.js';

const anyJson = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)));

it('a value that shares with a former one is equal to what it was', () => {
  fc.assert(
    fc.property(anyJson, anyJson, (former, value) => {
      fc.pre(!JSON.stringify([former, value]).includes('__proto__'));
      expect(share(former, value)).toEqual(value);
    }),
  );
});

it('a value that is equal to a former one is that one, and so is each of its parts', () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      fc.pre(!JSON.stringify(value).includes('__proto__'));
      const former = { part: value, other: 1 };
      expect(share(former, { part: structuredClone(value), other: 1 })).toBe(former);
      expect(share(former, { part: structuredClone(value), other: 2 }).part).toBe(former.part);
    }),
  );
});

it('a list is not an object with its indices', () => {
  expect(share({ 0: 'a' }, ['a'])).toEqual(['a']);
  expect(share(['a'], { 0: 'a' })).toEqual({ 0: 'a' });
});
