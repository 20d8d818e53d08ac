import { init } from 'echarts';

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {readonly (readonly [x: number, y: number])[]} points
 * @property {boolean} [dashed]
 *
 * @typedef {object} Chart
 * @property {string} title
 * @property {string} x the quantity on the horizontal axis, with its unit
 * @property {string} y the quantity on the vertical axis, with its unit
 * @property {readonly Line[]} lines
 * @property {boolean} [steps] whether each value holds until the next one
 */

const SIZE = { width: 860, height: 400 };
const LEGEND_WIDTH = 360;
const FONT = { fontFamily: 'sans-serif' };

/**
 * Draws lines. The horizontal axis is logarithmic; the vertical one is too, except with `steps`.
 *
 * @param {Chart} chart whose values on a logarithmic axis are above 0
 * @returns {string} an SVG file
 */
export function draw({ title, x, y, lines, steps = false }) {
  const chart = init(null, undefined, { renderer: 'svg', ssr: true, ...SIZE });
  try {
    const axis = { nameLocation: /** @type {const} */ ('middle'), axisLine: { onZero: false } };
    chart.setOption({
      animation: false,
      backgroundColor: 'white',
      textStyle: FONT,
      title: { text: title, left: 60, textStyle: { ...FONT, fontSize: 14 } },
      grid: { left: 70, right: LEGEND_WIDTH, top: 40, bottom: 50 },
      legend: {
        orient: 'vertical',
        left: SIZE.width - LEGEND_WIDTH + 16,
        top: 36,
        itemWidth: 40,
        itemHeight: 6,
      },
      xAxis: { ...axis, type: 'log', name: x, nameGap: 28 },
      yAxis: { ...axis, type: steps ? 'value' : 'log', name: y, nameGap: 48 },
      series: lines.map(({ name, points, dashed = false }) => ({
        type: 'line',
        silent: true,
        name,
        data: points.map((point) => [...point]),
        step: steps ? 'end' : false,
        showSymbol: !steps,
        symbolSize: 6,
        lineStyle: { type: dashed ? 'dashed' : 'solid' },
      })),
    });
    return `${asPicture(chart.renderToSVGString(), title)}\n`;
  } finally {
    chart.dispose();
  }
}

/**
 * Makes the chart a static picture: adds a title for readers who can't see it, and removes the styles for a pointer.
 *
 * @param {string} svg
 * @param {string} title
 */
function asPicture(svg, title) {
  const text = title.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return svg
    .replace(/<style.*?<\/style>\s*/s, '')
    .replace(/^<svg[^>]*>/, (tag) => `${tag}\n<title>${text}</title>`);
}
