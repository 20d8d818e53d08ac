/** Formats results as Markdown. */
import { judged } from './promises.mjs';

/** @import { Finding, Summary } from '../harness/finding.mjs' */
/** @import { Judged } from './promises.mjs' */

/**
 * @typedef {object} Results
 * @property {string} date of the start, in ISO format
 * @property {readonly string[]} args of the command
 * @property {number} seconds the duration
 * @property {import('./machine.mjs').Machine} machine
 * @property {import('./machine.mjs').Moment} [before] missing, like `after`, if it wasn't recorded
 * @property {import('./machine.mjs').Moment} [after]
 * @property {string} [remark] more about a published run, written by hand
 * @property {readonly Finding[]} findings
 * @property {readonly { row: string, reason: string }[]} failures
 */

/** The first paragraph of the published page. */
export const INTRODUCTION =
  '[Benchmarks](../../docs/benchmarks.md) says how they were measured, and has the verdict.';

/**
 * A page with everything but the single values: the promises, and for each run the conditions and the findings, each with its plot.
 *
 * @param {readonly Results[]} runs
 * @param {readonly string[]} plots paths of the files, relative to the page; each has the name of its finding
 * @param {string} [introduction] a sentence or two, with links that work where the page is
 */
export function page(runs, plots, introduction) {
  return [
    '# Results of the benchmark\n',
    ...(introduction === undefined ? [] : [`${introduction}\n`]),
    '## Promises\n',
    promisesTable(judged(runs.flatMap(({ findings }) => findings))),
    ...runs.flatMap((run, at) => [
      conditions(run, runs[at - 1]),
      ...run.failures.map(failed),
      ...run.findings.map((finding) => section(finding, '##', plots)),
    ]),
  ].join('\n');
}

/** @param {Results['failures'][number]} failure */
export function failed({ row, reason }) {
  return `**${row} failed**: ${reason}\n`;
}

/**
 * The plot of a finding, if there is one.
 *
 * @param {Pick<Finding, 'id'>} finding
 * @param {readonly string[]} plots paths of the files, relative to the document
 */
export function pictures({ id }, plots) {
  const name = `${id}.svg`;
  return plots.filter((file) => file.split('/').at(-1) === name).map((file) => `![${name}](${file})\n`);
}

/** @param {Results} results @param {Results} [former] the run that is shown before this one */
export function conditions({ date, args, seconds, machine, before, after, remark }, former) {
  const isSameMachine = JSON.stringify(machine) === JSON.stringify(former?.machine);
  const given = args.filter((arg, at) => arg !== '--out' && args[at - 1] !== '--out'); // The output folder doesn't matter.
  const said = [
    `\`${['npm run bench', ...(given.length > 0 ? ['--'] : []), ...given].join(' ')}\`, ${date.slice(0, 10)}, ${Math.round(seconds / 60)} minutes${isSameMachine ? ', on the same machine' : ''}.`,
    ...(isSameMachine ? [] : described(machine)),
    ...(before && after ? load(before, after) : []),
    ...(remark === undefined ? [] : [remark]),
  ];
  return `${said.join(' ')}\n`;
}

/** @param {import('./machine.mjs').Machine} machine */
function described({ processor, cores, memoryGb, kernel, versions }) {
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [`${processor}, ${cores} cores, ${memoryGb} GB; ${kernel};`, `${programs.join('; ')}.`];
}

/**
 * @param {import('./machine.mjs').Moment} before
 * @param {import('./machine.mjs').Moment} after
 */
function load(before, after) {
  const stolen = `${stolenPercent(before, after)} % of the processors' time was taken by other machines on the same host.`;
  return [
    `Load average ${before.load} at the beginning, ${after.load} at the end, which includes the benchmark itself; ${stolen}`,
  ];
}

/**
 * @param {import('./machine.mjs').Moment} before
 * @param {import('./machine.mjs').Moment} after
 */
function stolenPercent(before, after) {
  return ((100 * (after.stolenTicks - before.stolenTicks)) / (after.allTicks - before.allTicks)).toFixed(1);
}

/** @param {Finding} finding @param {string} heading @param {readonly string[]} [plots] */
export function section(finding, heading, plots = []) {
  const { title, columns, table, notes, summary } = finding;
  const compared =
    summary === undefined ? [] : [`${summary.value}:\n`, pivot(finding, summary), 'All values:\n'];
  const parts = [`${heading} ${title}\n`, ...pictures(finding, plots), ...compared, tableOf(columns, table)];
  if (notes.length > 0) parts.push(notes.map((note) => `- ${note}\n`).join(''));
  return parts.join('\n');
}

/**
 * One line for each setting, one column for each contestant. It leaves out lines in which nothing can be compared.
 *
 * @param {Pick<Finding, 'columns' | 'table'>} finding
 * @param {Summary} summary
 */
export function pivot({ columns, table }, { lines, across, value, only }) {
  const cell = (/** @type {(string | number)[]} */ row, /** @type {string} */ column) =>
    row[columns.indexOf(column)] ?? '–';
  const all = [...new Set(table.map((row) => String(cell(row, across))))];
  const names = only === undefined ? all : only.filter((name) => all.includes(name));
  /** @type {Map<string, { setting: (string | number)[], values: Map<string, string | number> }>} */
  const settings = new Map();
  for (const row of table) {
    const setting = lines.map((column) => cell(row, column));
    const name = String(cell(row, across));
    const line = settings.get(setting.join('\n')) ?? { setting, values: new Map() };
    settings.set(setting.join('\n'), line);
    if (names.includes(name)) line.values.set(name, cell(row, value));
  }
  const rows = [...settings.values()]
    .filter(({ values }) => values.size >= Math.min(2, names.length))
    .map(({ setting, values }) => [...setting, ...names.map((name) => values.get(name) ?? '–')]);
  return tableOf([...lines, ...names], rows);
}

/** @param {readonly Judged[]} promises */
export function promisesTable(promises) {
  return tableOf(
    ['promise', 'measured', 'kept'],
    promises.map(({ promise, measured, kept }) => [promise, measured, kept]),
  );
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

const [OPENING, CLOSING] = ['<!-- verdict: begin -->', '<!-- verdict: end -->'];

/**
 * Replaces the text between the two marks of a document.
 *
 * @param {string} document
 * @param {string} text
 * @throws {Error} if the document has no such marks
 */
export function fillIn(document, text) {
  const [begin, end] = [document.indexOf(OPENING), document.indexOf(CLOSING)];
  if (begin < 0 || end < begin)
    throw new Error(`there is no place for the verdict: expected ${OPENING} and, after it, ${CLOSING}`);
  return `${document.slice(0, begin + OPENING.length)}\n\n${text}\n${document.slice(end)}`;
}
