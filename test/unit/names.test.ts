import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NameTest } from '../../src/session/names.js';
import { namesOf } from '../helpers/names.js';

const names = fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 40 });

describe('the names of a listing', () => {
  it('are those that the server sent, whatever script they are written in', () => {
    fc.assert(
      fc.property(names, (given) => {
        expect(namesOf(given).strings()).toEqual(given);
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
        expect(namesOf(given).strings(isLonger)).toEqual(
          given.filter((name) => Buffer.byteLength(name) > length),
        );
        expect(tested).toEqual(given);
      }),
    );
  });
});
