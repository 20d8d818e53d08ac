/** Plots as SVG, drawn by hand: no more than lines, dots, axes and words. */

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {readonly (readonly [x: number, y: number])[]} points
 * @property {boolean} [dashed]
 *
 * @typedef {object} Plot
 * @property {string} title
 * @property {string} x what is along the axis, with its unit
 * @property {string} y
 * @property {readonly Line[]} lines
 * @property {boolean} [steps] whether each value holds until the next
 */

const SIZE = { width: 770, height: 400 };
const FRAME = { left: 70, right: 300, top: 40, bottom: 50 };
const COLOURS = ['#0b6e4f', '#c1440e', '#33658a', '#8e6c00', '#7b2d8b', '#555555', '#b03a5b', '#1b998b'];
const STYLE = 'font-family: sans-serif; font-size: 12px';

/**
 * Both axes are logarithmic, or only the one along with `steps`.
 *
 * @param {Plot} plot whose values on a logarithmic axis are above 0
 * @returns {string} the whole file
 */
export function draw({ title, x, y, lines, steps = false }) {
  const points = lines.flatMap((line) => line.points);
  const across = logarithmic(
    points.map(([value]) => value),
    [FRAME.left, SIZE.width - FRAME.right],
  );
  const up = (steps ? linear : logarithmic)(
    points.map(([, value]) => value),
    [SIZE.height - FRAME.bottom, FRAME.top],
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.width} ${SIZE.height}" style="${STYLE}">`,
    `<title>${escaped(title)}</title>`,
    '<rect width="100%" height="100%" fill="white"/>',
    text(FRAME.left, 22, title, 'font-weight="bold"'),
    ...across.ticks.map((tick) => tickAcross(tick, across.at(tick))),
    ...up.ticks.map((tick) => tickUp(tick, up.at(tick))),
    text((FRAME.left + SIZE.width - FRAME.right) / 2, SIZE.height - 12, x, 'text-anchor="middle"'),
    text(0, 0, y, `text-anchor="middle" transform="translate(16 ${SIZE.height / 2}) rotate(-90)"`),
    ...lines.flatMap((line, index) => drawLine(line, index, { across, up, steps })),
    '</svg>\n',
  ].join('\n');
}

/** @typedef {{ at: (value: number) => number, ticks: number[] }} Axis */

/** From one power of ten to another. @param {readonly number[]} values @param {[number, number]} ends @returns {Axis} */
export function logarithmic(values, [from, to]) {
  const known = values.filter((value) => value > 0);
  const least = Math.floor(Math.log10(Math.min(...known)));
  const most = Math.max(least + 1, Math.ceil(Math.log10(Math.max(...known))));
  return {
    at: (value) => from + ((Math.log10(value) - least) / (most - least)) * (to - from),
    ticks: Array.from({ length: most - least + 1 }, (_, index) => 10 ** (least + index)),
  };
}

/** From 0 on. @param {readonly number[]} values @param {[number, number]} ends @returns {Axis} */
export function linear(values, [from, to]) {
  const most = Math.max(...values);
  return {
    at: (value) => from + (value / most) * (to - from),
    ticks: [0, 0.25, 0.5, 0.75, 1].map((share) => share * most),
  };
}

/** @param {Line} line @param {number} index @param {{ across: Axis, up: Axis, steps: boolean }} axes */
function drawLine({ name, points, dashed = false }, index, { across, up, steps }) {
  const colour = COLOURS[index % COLOURS.length];
  const dash = dashed ? ' stroke-dasharray="5 4"' : '';
  const places = points.map(([x, y]) => [px(across.at(x)), px(up.at(y))]);
  const path = places.map(([x, y], at) => (at === 0 ? `M${x} ${y}` : steps ? `H${x}V${y}` : `L${x} ${y}`));
  const legend = { x: SIZE.width - FRAME.right + 16, y: FRAME.top + 8 + 20 * index };
  return [
    `<path d="${path.join('')}" fill="none" stroke="${colour}" stroke-width="1.8"${dash}/>`,
    ...(steps ? [] : places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`)),
    `<path d="M${legend.x} ${legend.y}h22" stroke="${colour}" stroke-width="1.8"${dash}/>`,
    text(legend.x + 28, legend.y + 4, name),
  ];
}

/** @param {number} tick @param {number} at */
function tickAcross(tick, at) {
  const line = `<path d="M${px(at)} ${FRAME.top}V${SIZE.height - FRAME.bottom}" stroke="#e4e4e4"/>`;
  return line + text(at, SIZE.height - FRAME.bottom + 18, figure(tick), 'text-anchor="middle"');
}

/** @param {number} tick @param {number} at */
function tickUp(tick, at) {
  const line = `<path d="M${FRAME.left} ${px(at)}H${SIZE.width - FRAME.right}" stroke="#e4e4e4"/>`;
  return line + text(FRAME.left - 8, at + 4, figure(tick), 'text-anchor="end"');
}

/** @param {number} value */
function figure(value) {
  return String(Number(value.toPrecision(3)));
}

/** @param {number} x @param {number} y @param {string} words @param {string} [attributes] */
function text(x, y, words, attributes = '') {
  return `<text x="${px(x)}" y="${px(y)}" ${attributes}>${escaped(words)}</text>`;
}

/** @param {string} words */
function escaped(words) {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** @param {number} place */
function px(place) {
  return Number(place.toFixed(1));
}
