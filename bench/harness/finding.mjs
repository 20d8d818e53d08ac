/**
 * A row of the benchmark is a module of `bench/rows/`. Its default export is a function from `Bench`, which says how to measure, to
 * `Finding`, the result.
 *
 * @typedef {(bench: Bench) => Promise<Finding>} Row
 *
 * @typedef {object} Bench
 * @property {boolean} quick whether to measure briefly
 * @property {number} rounds how often the contestants take turns, in rows that compare them
 * @property {readonly string[]} [contestants] the names of the contestants to compare, if not all
 * @property {readonly number[]} [crowds] numbers of contenders, in rows that compare them, if not the default
 * @property {(text: string) => void} say prints a short line about the progress
 *
 * @typedef {object} Summary how a finding's table is shortened: one line for each setting, one column for each contestant
 * @property {readonly string[]} lines the table's columns that name a setting
 * @property {string} across the table's column with the names of the contestants
 * @property {string} value the table's column with the value to show
 * @property {readonly string[]} [only] the contestants to show, in this order, if not all
 *
 * @typedef {object} Finding
 * @property {string} id
 * @property {string} title
 * @property {string[]} columns of the table
 * @property {(string | number)[][]} table
 * @property {Summary} [summary] without one, the page has no short table
 * @property {string[]} notes conditions of the measurement
 * @property {unknown} data all measured values
 */

export {};
