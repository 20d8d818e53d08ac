/**
 * Draws a run as a timeline. Writes the SVG itself, because Apache ECharts, which draws the benchmark's plots, has no styles for
 * dark pages.
 */

/** @import { Run } from './run.mjs' */

const WIDTH = 860;
const LEFT = 130;
const RIGHT = 24;
const TOP = 66;
const ROW = 46;
const BAR = 24;

// The picture has a background of its own, so that it is also legible if the page is light and the picture dark, or vice versa.
const STYLE = `
  .page { fill: #ffffff; stroke: #d0d7de; }
  text { font: 14px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 15px; }
  .small { font-size: 12.5px; fill: #59636e; }
  .right { text-anchor: end; }
  .onlane { paint-order: stroke; stroke: #ffffff; stroke-width: 6px; }
  .lane { stroke: #d0d7de; }
  .leads { fill: #1a7f37; }
  .lease { fill: #1a7f37; fill-opacity: 0.22; stroke: #1a7f37; stroke-dasharray: 4 3; }
  .onbar { fill: #ffffff; font-weight: 600; }
  .event { stroke: #cf222e; stroke-width: 2; }
  .order { stroke: #59636e; stroke-width: 2; }
  .eventtext { fill: #cf222e; font-weight: 600; }
  .ordertext { fill: #1f2328; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #3d444d; }
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .onlane { stroke: #0d1117; }
    .lane { stroke: #3d444d; }
    .leads { fill: #238636; }
    .lease { fill: #3fb950; fill-opacity: 0.22; stroke: #3fb950; }
    .onbar { fill: #ffffff; }
    .event { stroke: #f85149; }
    .order { stroke: #9198a1; }
    .eventtext { fill: #f85149; }
    .ordertext { fill: #f0f6fc; }
  }`;

/**
 * @param {Run} run with three terms
 * @returns {string} an SVG file
 */
export function draw({ ids, terms, killedAtMs, terminatedAtMs, endMs }) {
  const [killed, second, third] = terms;
  if (killed === undefined || second === undefined || third === undefined)
    throw new RangeError('expected three terms');
  const scale = (WIDTH - LEFT - RIGHT) / endMs;
  const x = (/** @type {number} */ ms) => round(LEFT + ms * scale);
  const y = (/** @type {string} */ id) => TOP + ids.indexOf(id) * ROW;
  const bottom = TOP + ids.length * ROW;
  const height = bottom + 72;
  const failover = Math.round(second.fromMs - killedAtMs);
  const handover = Math.round(third.fromMs - terminatedAtMs);
  const title = `Replica ${killed.id} is killed: ${second.id} leads after ${failover} ms. Replica ${second.id} is stopped: ${third.id} leads after ${handover} ms.`;
  const ends = new Map([
    [killed, killedAtMs],
    [second, second.toMs],
    [third, endMs],
  ]);
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${title}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>`,
    text(20, 30, 'title', 'Three replicas, one leader'),
    text(
      WIDTH - RIGHT,
      30,
      'small right',
      'Measured with the defaults: a session timeout of 6 s, a lease of 2 s',
    ),
    `<line class="lane" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${height - 32}" y2="${height - 32}"/>`,
    ...ids.flatMap((id) => [
      text(20, y(id) + 17, '', `replica ${id}`),
      `<line class="lane" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(id) + BAR / 2}" y2="${y(id) + BAR / 2}"/>`,
    ]),
    bar('lease', x(killedAtMs), x(killed.leaseEndMs), y(killed.id)),
    text(x(killed.leaseEndMs) + 8, y(killed.id) + 17, 'small onlane', 'its lease may still last'),
    ...[...ends].flatMap(([{ id, fromMs }, toMs]) => [
      bar('leads', x(fromMs), x(toMs), y(id)),
      text(x(fromMs) + 10, y(id) + 17, 'onbar', 'leads'),
    ]),
    ...mark(
      'event',
      x(killedAtMs),
      bottom,
      `kill -9 ${killed.id}`,
      `${second.id} leads after ${failover} ms`,
    ),
    ...mark(
      'order',
      x(terminatedAtMs),
      bottom,
      `SIGTERM to ${second.id}`,
      `${third.id} leads after ${handover} ms`,
    ),
    ...ticks(endMs).flatMap((ms) => [
      `<line class="lane" x1="${x(ms)}" x2="${x(ms)}" y1="${height - 32}" y2="${height - 26}"/>`,
      text(x(ms) - 8, height - 11, 'small', `${ms / 1000} s`),
    ]),
    '</svg>',
  ].join('\n')}\n`;
}

const TICK_MS = 2000;

/** @param {number} endMs */
const ticks = (endMs) => Array.from({ length: Math.floor(endMs / TICK_MS) + 1 }, (_, at) => at * TICK_MS);

/** @param {number} ms */
const round = (ms) => Math.round(ms * 10) / 10;

/** @param {number} x @param {number} y @param {string} kind @param {string} words */
const text = (x, y, kind, words) =>
  `<text${kind === '' ? '' : ` class="${kind}"`} x="${round(x)}" y="${y}">${words}</text>`;

/** @param {string} kind @param {number} from @param {number} to @param {number} y */
const bar = (kind, from, to, y) =>
  `<rect class="${kind}" x="${from}" y="${y}" width="${round(to - from)}" height="${BAR}" rx="4"/>`;

/** Marks an event with a line across the lanes and two lines of text. @param {string} kind @param {number} x @param {number} bottom @param {string} what @param {string} then */
const mark = (kind, x, bottom, what, then) => [
  `<line class="${kind}" x1="${x}" x2="${x}" y1="${TOP - 12}" y2="${bottom - ROW + BAR + 12}"/>`,
  text(x + 6, bottom + 2, `${kind}text`, what),
  text(x + 6, bottom + 20, 'small', then),
];
