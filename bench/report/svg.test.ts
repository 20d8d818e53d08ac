import { describe, expect, it } from 'vitest';
import { draw, linear, logarithmic } from './svg.mjs';

/** Each element that is opened is closed, in its turn, and nothing but a number is where a place is. */
function expectWellFormed(svg: string) {
  const open: string[] = [];
  for (const [, closes, name, ends] of svg.matchAll(/<(\/?)([a-z]+)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (closes === '/') expect(open.pop()).toBe(name);
    else if (ends !== '/') open.push(name ?? '');
  }
  expect(open).toEqual([]);
  expect(svg.replaceAll(/<[^<>]*>/g, '')).not.toMatch(/[<>]/);
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
}

describe("a benchmark's plots", () => {
  it('have axes from one power of ten to another, or from 0', () => {
    const axis = logarithmic([15, 1000], [0, 200]);
    expect(axis.ticks).toEqual([10, 100, 1000]);
    expect([10, 100, 1000].map(axis.at)).toEqual([0, 100, 200]);
    expect(logarithmic([10], [0, 100]).ticks).toEqual([10, 100]);
    expect(linear([3, 4], [100, 0]).at(2)).toBe(50);
  });

  it('are well-formed, whatever the names are', () => {
    const svg = draw({
      title: 'p50 < p99 & more',
      x: 'contenders',
      y: 'µs',
      lines: [
        {
          name: '<b>',
          points: [
            [15, 300],
            [1000, 400],
          ],
          dashed: true,
        },
      ],
    });
    expectWellFormed(svg);
    expect(svg).toContain('p50 &lt; p99 &amp; more');
    expect(svg).toContain('&lt;b&gt;');
  });
});
