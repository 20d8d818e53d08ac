import { describe, expect, it } from 'vitest';
import { isMet } from './finding.mjs';

describe('a bar', () => {
  it('is met by a value that is not higher, or with atLeast not lower', () => {
    expect(isMet({ what: '', measured: 3, bar: 3 })).toBe(true);
    expect(isMet({ what: '', measured: 3.1, bar: 3 })).toBe(false);
    expect(isMet({ what: '', measured: 3.1, bar: 3, atLeast: true })).toBe(true);
    expect(isMet({ what: '', measured: 2.9, bar: 3, atLeast: true })).toBe(false);
  });

  it('is not met by a value that could not be measured', () => {
    expect(isMet({ what: '', measured: Number.NaN, bar: 3 })).toBe(false);
    expect(isMet({ what: '', measured: Number.NaN, bar: 3, atLeast: true })).toBe(false);
  });
});
