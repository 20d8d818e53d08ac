/** Figures in the tables of findings. */

/** @import { Finding } from '../harness/finding.mjs' */

/**
 * @typedef {object} Figures of one finding
 * @property {(column: string, ...values: (string | number)[]) => number} cell the figure of a column, in the row that begins with
 *   these values
 * @property {(column: string, who: string) => number[]} cells the figures of a column, in all rows that have this cell
 * @property {Finding['table']} table
 */

/** @type {Pick<Finding, 'columns' | 'table'>} */
const NOTHING = { columns: [], table: [] };

/**
 * @template T
 * @param {readonly Pick<Finding, 'id' | 'columns' | 'table'>[]} findings
 * @param {string} id of one of them
 * @param {(figures: Figures) => T} read
 * @returns {T | undefined} `undefined` if one of the figures is missing
 */
export function figuresOf(findings, id, read) {
  const { columns, table } = findings.find((finding) => finding.id === id) ?? NOTHING;
  let isMissing = table.length === 0;
  /** @param {string} column @param {(row: Finding['table'][number]) => boolean} suits */
  const found = (column, suits) => {
    const cells = table.filter(suits).map((row) => row[columns.indexOf(column)]);
    const numbers = cells.filter((cell) => typeof cell === 'number');
    isMissing ||= numbers.length === 0;
    return numbers;
  };
  const value = read({
    cell: (column, ...values) =>
      found(column, (row) => values.every((each, at) => row[at] === each))[0] ?? Number.NaN,
    cells: (column, who) => found(column, (row) => row.includes(who)),
    table,
  });
  return isMissing ? undefined : value;
}
