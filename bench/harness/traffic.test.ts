import { describe, expect, it } from 'vitest';
import { probesInPlaceOfPings } from './traffic.mjs';

describe('existence probes in place of pings', () => {
  const line = (...probesAt: number[]) => ({ openedAt: 1000, probesAt });

  it('are probes that a session sends when a ping would be due', () => {
    expect(probesInPlaceOfPings(line(2200, 3450, 4600), 1200)).toBe(3);
  });

  it('are no more than pings would have been due', () => {
    expect(probesInPlaceOfPings(line(1100, 1200, 1300), 1200)).toBe(0);
    expect(probesInPlaceOfPings(line(2200, 2210, 2220, 3400), 1200)).toBe(2);
  });
});
