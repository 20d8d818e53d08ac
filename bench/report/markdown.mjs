/** Formats results as Markdown. */
import { isMet } from '../harness/finding.mjs';

/** @import { Finding, Bar } from '../harness/finding.mjs' */

/**
 * @typedef {object} Results
 * @property {string} date of the start, in ISO format
 * @property {readonly string[]} args of the command
 * @property {number} seconds the duration
 * @property {import('./machine.mjs').Machine} machine
 * @property {import('./machine.mjs').Moment} before
 * @property {import('./machine.mjs').Moment} after
 * @property {readonly Finding[]} findings
 * @property {readonly { row: string, reason: string }[]} failures
 */

const BEGIN = '<!-- results: begin -->';
const END = '<!-- results: end -->';

/**
 * A page with everything but the single values.
 *
 * @param {Results} results
 * @param {readonly string[]} plots paths of the files, relative to the page
 * @param {string} [introduction] a sentence or two, with links that work where the page is
 */
export function page(results, plots, introduction) {
  return [
    '# Results of the benchmark\n',
    ...(introduction === undefined ? [] : [`${introduction}\n`]),
    conditions(results),
    ...results.failures.map(failed),
    ...plots.map(picture),
    ...results.findings.map((finding) => section(finding, '##')),
  ].join('\n');
}

/** @param {Results['failures'][number]} failure */
export function failed({ row, reason }) {
  return `**${row} failed**: ${reason}\n`;
}

/** @param {string} file the path of a plot, relative to the document */
export function picture(file) {
  return `![${file.slice(file.lastIndexOf('/') + 1)}](${file})\n`;
}

/** @param {Results} results */
export function conditions({ date, args, seconds, machine, before, after }) {
  const { processor, cores, memoryGb, kernel, versions } = machine;
  return [
    `\`${['npm run bench', ...(args.length > 0 ? ['--'] : []), ...args].join(' ')}\`, ${date.slice(0, 10)}, ${Math.round(seconds / 60)} minutes.`,
    `${processor}, ${cores} cores, ${memoryGb} GB; ${kernel};`,
    `${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join('; ')}.`,
    `Load average ${before.load} at the beginning, ${after.load} at the end, which includes the benchmark itself;`,
    `${stolenPercent(before, after)} % of the processors' time was taken by other machines on the same host.\n`,
  ].join('\n');
}

/**
 * @param {import('./machine.mjs').Moment} before
 * @param {import('./machine.mjs').Moment} after
 */
export function stolenPercent(before, after) {
  return ((100 * (after.stolenTicks - before.stolenTicks)) / (after.allTicks - before.allTicks)).toFixed(1);
}

/** @param {Finding} finding @param {string} heading */
export function section({ title, columns, table, bars, notes }, heading) {
  const parts = [`${heading} ${title}\n`, tableOf(columns, table)];
  if (bars.length > 0) parts.push(tableOf(['bar', 'measured', 'is to be', 'met'], bars.map(barRow)));
  if (notes.length > 0) parts.push(notes.map((note) => `- ${note}\n`).join(''));
  return parts.join('\n');
}

/** @param {Bar} bar */
export function barRow(bar) {
  const unit = bar.unit === undefined ? '' : ` ${bar.unit}`;
  return [
    bar.what,
    `${bar.measured}${unit}`,
    `${bar.atLeast ? '≥' : '≤'} ${bar.bar}${unit}`,
    isMet(bar) ? 'yes' : '**no**',
  ];
}

/**
 * @param {readonly string[]} columns
 * @param {readonly (readonly (string | number)[])[]} rows
 */
export function tableOf(columns, rows) {
  const line = (/** @type {readonly (string | number)[]} */ cells) =>
    `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |\n`;
  return [line(columns), `|${'---|'.repeat(columns.length)}\n`, ...rows.map(line)].join('');
}

/**
 * Replaces the text between the two marks of a document.
 *
 * @param {string} document
 * @param {string} text
 * @throws {Error} if the document has no such marks
 */
export function fillIn(document, text) {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin)
    throw new Error(`there is no place for the results: expected ${BEGIN} and, after it, ${END}`);
  return `${document.slice(0, begin + BEGIN.length)}\n\n${text}\n${document.slice(end)}`;
}
