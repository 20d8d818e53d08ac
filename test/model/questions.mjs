/** The questions that a search answers about a model, and whether the answer is the expected one. */

/**
 * @typedef {object} Model
 * @property {string} about the subject of the model
 * @property {string} path
 * @property {readonly string[]} bounds the names of the bounds that the macros of its questions set, in the macros' order
 * @property {readonly Question[]} all all questions, which take minutes
 * @property {readonly Question[]} quick the questions of the tests, with smaller bounds
 */

/**
 * @typedef {object} Question
 * @property {string} name the name of the variant, or of the model, which is Conclave's own recipe
 * @property {string} what the difference of the variant from the model
 * @property {string} property the property that must hold, or that the search must see broken
 * @property {import('../../tools/spin/search.mjs').Search} search
 * @property {'assertion violated' | 'invalid end state' | 'acceptance cycle'} [breaks] how the variant must fail. If it is missing,
 *   the property must hold
 * @property {boolean} [reachesAll] whether the search must reach each statement of the model
 */

const NOTHING_BREAKS = 'all promises, no deadlock';
const ALL_LEAD = 'all lead in the end';

/** @typedef {Record<string, number>} Bounds */

/** @param {Bounds} bounds */
function bounded(bounds) {
  return Object.entries(bounds).map(([name, most]) => `${name.toUpperCase()}=${most}`);
}

/**
 * Asks whether the model itself holds. It must.
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
 * Asks whether the model has no cycles, even if a candidate stands still for ever. It must have none.
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
 * Asks whether a variant holds. It must hold as well.
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
 * Asks whether a variant breaks this promise. It must break it.
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
 * Asks whether a variant reaches a deadlock. It must reach one.
 *
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
 * Whether the finding is the expected one.
 *
 * @param {Question} question
 * @param {import('../../tools/spin/search.mjs').Finding} finding
 */
export function isAsExpected({ breaks, reachesAll }, { error, complete, unreached }) {
  if (breaks !== undefined) return error === breaks;
  return error === undefined && complete && (!reachesAll || unreached.length === 0);
}
