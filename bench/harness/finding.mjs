/**
 * What a row of the benchmark is given, and what it finds out. A row is a module of `bench/rows/` whose default export is an
 * async function from the one to the other.
 *
 * @typedef {object} Bench
 * @property {boolean} quick whether a first impression is enough
 * @property {number} rounds how often the contestants take turns, in rows that compare them
 * @property {readonly string[]} [contestants] the names of those that are to be compared, if not all
 * @property {readonly number[]} [crowds] how many contend, in rows that compare crowds, if not as usual
 * @property {(text: string) => void} say tells how far it is, in a short line
 *
 * @typedef {object} Bar
 * @property {string} what
 * @property {number} measured
 * @property {number} bar met when what was measured is no more than that
 * @property {string} [unit]
 * @property {boolean} [atLeast] met when it is no less
 *
 * @typedef {object} Finding
 * @property {string} id
 * @property {string} title
 * @property {string[]} columns of the table, which is what people read
 * @property {(string | number)[][]} table
 * @property {Bar[]} bars
 * @property {string[]} notes conditions that a reader must know
 * @property {unknown} data everything that was measured
 */

/** @param {Bar} bar */
export function isMet({ measured, bar, atLeast = false }) {
  return atLeast ? measured >= bar : measured <= bar;
}
