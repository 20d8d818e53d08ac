/** Shortens results for `docs/benchmarks.md`. That document links the page with everything. */
import { isMet } from '../harness/finding.mjs';
import { barRow, conditions, failed, pictures, tableOf } from './markdown.mjs';

/** @import { Finding, Summary } from '../harness/finding.mjs' */
/** @import { Results } from './markdown.mjs' */

/**
 * The part of a document that shows the results. For each run it has the conditions, and a table for each finding with a summary.
 * The missed bars follow.
 *
 * @param {readonly Results[]} runs
 * @param {readonly string[]} plots paths of the files, relative to the document. It shows those that are named after a finding with a summary
 * @param {string} heading of each part
 */
export function summary(runs, plots, heading) {
  return [
    ...runs.flatMap((run, at) => [
      conditions(run, runs[at - 1]),
      ...run.failures.map(failed),
      ...run.findings.flatMap((finding) => short(finding, plots, heading)),
    ]),
    barsOf(
      runs.flatMap(({ findings }) => findings),
      heading,
    ),
  ].join('\n');
}

/** @param {Finding} finding @param {readonly string[]} plots @param {string} heading */
export function short(finding, plots, heading) {
  if (finding.summary === undefined) return [];
  return [
    `${heading} ${finding.title}\n`,
    `${finding.summary.value}:\n`,
    pivot(finding, finding.summary),
    ...pictures(finding, plots),
  ];
}

/**
 * The missed bars of all findings. The page with all tables has the others.
 *
 * @param {readonly Finding[]} findings
 * @param {string} heading
 */
export function barsOf(findings, heading) {
  const all = findings.flatMap(({ id, bars }) => bars.map((bar) => ({ id, bar })));
  const missed = all.filter(({ bar }) => !isMet(bar));
  const met = `${all.length - missed.length} of ${all.length} are met.`;
  if (missed.length === 0) return `${heading} Bars\n\n${met}\n`;
  return [
    `${heading} Bars\n`,
    `${met} These are missed:\n`,
    tableOf(
      ['row', 'bar', 'measured', 'is to be', 'met'],
      missed.map(({ id, bar }) => [id, ...barRow(bar)]),
    ),
  ].join('\n');
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
