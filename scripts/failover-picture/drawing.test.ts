import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { draw } from './drawing.mjs';
import type { LedTerm } from './run.mjs';

const term = (id: string, fromMs: number, toMs: number): LedTerm => ({
  id,
  fromMs,
  toMs,
  leaseEndMs: toMs + 1900,
});
const run = {
  ids: ['A', 'B', 'C'],
  terms: [term('A', 0, 2990), term('B', 5100, 7990), term('C', 8020, 10_000)],
  killedAtMs: 3000,
  terminatedAtMs: 8000,
  endMs: 10_000,
};

describe('the picture of a failover', () => {
  it('says how long the failover and the handover took, also to those who cannot see it', () => {
    const svg = draw(run);
    const title = 'Replica A is killed: B leads after 2100 ms. Replica B is stopped: C leads after 20 ms.';
    expect(svg).toContain(`<title>${title}</title>`);
    for (const words of ['kill -9 A', 'B leads after 2100 ms', 'SIGTERM to B', 'C leads after 20 ms'])
      expect(svg).toContain(`>${words}</text>`);
  });

  it('is the one in the documentation, legible on light and dark pages', () => {
    const svg = readFileSync(join(import.meta.dirname, '../../docs/images/failover.svg'), 'utf8');
    const shape = (text: string) =>
      text.replaceAll(/\d+(\.\d+)?/g, '0').replaceAll(/<line.*0 s<\/text>/gs, '');
    expect(shape(svg)).toBe(shape(draw(run)));
    expect(svg).toContain('prefers-color-scheme: dark');
  });
});
