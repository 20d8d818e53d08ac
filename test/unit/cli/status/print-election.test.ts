import { describe, expect, it } from 'vitest';
import { ageMs } from '../../../../src/cli/status/print-election.js';

describe('the age of a heartbeat', () => {
  it('is what has passed since, by the two clocks', () => {
    expect(ageMs(1000, 1250)).toBe(250);
  });

  it('is never negative, though the clock of the servers may be ahead', () => {
    expect(ageMs(1250, 1000)).toBe(0);
  });
});
