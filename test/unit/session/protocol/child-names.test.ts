import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NameTest } from '../../../../src/session/protocol/child-names.js';
import { childNames } from '../../../support/conclave/child-names.js';

const names = fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 40 });

describe('the names of a listing', () => {
  it('are those that the server sent, whatever script they are written in', () => {
    fc.assert(
      fc.property(names, (given) => {
        expect(childNames(given).strings()).toEqual(given);
      }),
    );
  });

  it('are each tested by their own bytes, and made strings of only if they pass', () => {
    fc.assert(
      fc.property(names, fc.nat(6), (given, length) => {
        const tested: string[] = [];
        const isLonger: NameTest = (bytes, start, end) => {
          tested.push(bytes.toString('utf8', start, end));
          return end - start > length;
        };
        expect(childNames(given).strings(isLonger)).toEqual(
          given.filter((name) => Buffer.byteLength(name) > length),
        );
        expect(tested).toEqual(given);
      }),
    );
  });

  it('are looked at until as many as are wanted have passed, and no further', () => {
    fc.assert(
      fc.property(names, fc.nat(4), (given, atMost) => {
        let tested = 0;
        const isLong: NameTest = (_bytes, start, end) => {
          tested++;
          return end - start > 3;
        };
        const long = given.filter((name) => Buffer.byteLength(name) > 3);
        expect(childNames(given).strings(isLong, atMost)).toEqual(long.slice(0, atMost));
        // The number of names up to the last wanted one, or of all names if there are too few.
        let [needed, passed] = [0, 0];
        while (needed < given.length && passed < atMost)
          if (Buffer.byteLength(given[needed++] as string) > 3) passed++;
        expect(tested).toBe(needed);
      }),
    );
  });
});
