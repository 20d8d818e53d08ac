import { describe, expect, it } from 'vitest';
import { Line, looksInPlaceOfPings } from './counting-proxy.mjs';

describe('looks in the place of pings', () => {
  const line = (...looksAt: number[]) => Object.assign(new Line(), { openedAt: 1000, looksAt });

  it('are those that a session sends when a ping would be due', () => {
    expect(looksInPlaceOfPings(line(2200, 3450, 4600), 1200)).toBe(3);
  });

  it('are no more than there would be pings', () => {
    expect(looksInPlaceOfPings(line(1100, 1200, 1300), 1200)).toBe(0);
    expect(looksInPlaceOfPings(line(2200, 2210, 2220, 3400), 1200)).toBe(2);
  });
});
