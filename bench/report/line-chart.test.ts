import { expect, it } from 'vitest';
import { draw } from './line-chart.mjs';

it('a line chart is an SVG file with the names of its axes and lines, whatever characters they have', () => {
  const points = [[15, 300] as const, [1000, 400] as const];
  const svg = draw({
    title: 'p50 < p99 & more',
    x: 'contenders',
    y: 'µs',
    lines: [{ name: '<b>', points, dashed: true }],
  });
  expect(svg).toMatch(/^<svg .*<\/svg>\n$/s);
  for (const text of ['p50 &lt; p99 &amp; more', '&lt;b&gt;', 'contenders', 'µs', 'stroke-dasharray'])
    expect(svg).toContain(text);
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
});
