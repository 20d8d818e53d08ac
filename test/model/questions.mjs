/** What may be asked of a model, and whether it came out as it must. */

/**
 * @typedef {object} Model
 * @property {string} about what the model is of
 * @property {string} path
 * @property {readonly string[]} bounds what the figures say that the macros of its questions give, in their order
 * @property {readonly Question[]} all everything: minutes
 * @property {readonly Question[]} quick what the tests ask: smaller bounds
 */

/**
 * @typedef {object} Question
 * @property {string} name of the variant, or of the model: that is Conclave's own
 * @property {string} what what is different
 * @property {string} property what must hold, or must be seen to break
 * @property {import('../../tools/spin/search.mjs').Search} search
 * @property {'assertion violated' | 'invalid end state' | 'acceptance cycle'} [breaks] how it must fail; it must hold
 *   if this is missing
 * @property {boolean} [reachesAll] whether each statement of the model must be reached on the way
 */

const NOTHING_BREAKS = 'all promises, no deadlock';
const ALL_LEAD = 'all lead in the end';

/** @typedef {Record<string, number>} Bounds */

/** @param {Bounds} bounds */
function bounded(bounds) {
  return Object.entries(bounds).map(([name, most]) => `${name.toUpperCase()}=${most}`);
}

/**
 * The model itself must hold.
 *
 * @param {string} name
 * @param {Bounds} bounds
 * @param {import('../../tools/spin/search.mjs').Effort} effort
 * @param {boolean} [reachesAll]
 * @returns {Question}
 */
export function holds(name, bounds, effort, reachesAll = false) {
  const defines = bounded(bounds);
  return {
    ...{ reachesAll, name, what: "Conclave's", property: NOTHING_BREAKS },
    search: { defines, kind: 'states', effort },
  };
}

/**
 * The model goes round in no circle, not even where a candidate stands still for ever.
 *
 * @param {string} name
 * @param {Bounds} bounds
 * @param {import('../../tools/spin/search.mjs').Effort} effort
 * @returns {Question}
 */
export function ends(name, bounds, effort) {
  const defines = bounded(bounds);
  return { name, what: "Conclave's", property: ALL_LEAD, search: { defines, kind: 'cycles', effort } };
}

/**
 * A variant that holds as well.
 *
 * @param {Bounds} bounds
 * @param {string} name
 * @param {string} what
 * @returns {Question}
 */
export function holdsToo(bounds, name, what) {
  const defines = [...bounded(bounds), name];
  return { name, what, property: NOTHING_BREAKS, search: { defines, kind: 'states', effort: 'some' } };
}

/**
 * A candidate finds that it is its turn, or that it leads, and it isn't so.
 *
 * @param {Bounds} bounds
 * @param {string} name
 * @param {string} promise
 * @param {string} what
 * @returns {Question}
 */
export function breaksPromise(bounds, name, promise, what) {
  const defines = [...bounded(bounds), name, `ONLY=${promise}`];
  return {
    ...{ name, what, property: promise, breaks: 'assertion violated' },
    search: { defines, kind: 'states', only: 'promises' },
  };
}

/**
 * @param {Bounds} bounds
 * @param {string} name
 * @param {string} what
 * @returns {Question}
 */
export function deadlocks(bounds, name, what) {
  return {
    ...{ name, what, property: 'no deadlock', breaks: 'invalid end state' },
    search: { defines: [...bounded(bounds), name], kind: 'states', only: 'deadlocks' },
  };
}

/**
 * Whether it came out as it must.
 *
 * @param {Question} question
 * @param {import('../../tools/spin/search.mjs').Finding} finding
 */
export function isAsExpected({ breaks, reachesAll }, { error, complete, unreached }) {
  if (breaks !== undefined) return error === breaks;
  return error === undefined && complete && (!reachesAll || unreached.length === 0);
}
