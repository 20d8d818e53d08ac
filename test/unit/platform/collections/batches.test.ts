import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inBatches } from '../../../../src/platform/collections/batches.js';

it('a list in batches is the same list, in full batches but for the last one', () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 12 }), (all, most) => {
      const batches = inBatches(all, most);
      expect(batches.flat()).toEqual(all);
      expect(batches.slice(0, -1).every(({ length }) => length === most)).toBe(true);
      expect(batches.every(({ length }) => length > 0 && length <= most)).toBe(true);
    }),
  );
});
