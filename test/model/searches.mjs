/** What is asked of the model of the recipe, and what must come out. */
import { fileURLToPath } from 'node:url';

export const MODEL = fileURLToPath(new URL('recipe.pml', import.meta.url));

/**
 * @typedef {object} Question
 * @property {string} name of the variant; `recipe` is Conclave's own
 * @property {string} what what is different
 * @property {string} property what must hold, or must be seen to break
 * @property {import('../../tools/spin/search.mjs').Search} search
 * @property {'assertion violated' | 'invalid end state' | 'acceptance cycle'} [breaks] how it must fail; it must hold
 *   if this is missing
 * @property {boolean} [reachesAll] whether each statement of the model must be reached on the way
 */

const NOTHING_BREAKS = 'all promises, no deadlock';
const ALL_LEAD = 'all lead in the end';

/** The whole recipe, searched to the last state: what holds within these bounds. */
const WHOLE = /** @type {const} */ ([
  { faults: 1, losses: 1, stops: 1, calls: 1, again: 1 },
  { faults: 2, losses: 1, stops: 0, calls: 1, again: 0 },
]);

/** Smaller bounds, within which each statement of the model is reached, and each variant fails. */
const SMALL = { faults: 1, losses: 1, stops: 1, calls: 1, again: 0 };

/** Bounds for a quick look. */
const SMALLEST = { faults: 1, losses: 0, stops: 0, calls: 1, again: 0 };

/** @param {Record<string, number>} bounds */
function bounded(bounds) {
  return Object.entries(bounds).map(([name, most]) => `${name.toUpperCase()}=${most}`);
}

/**
 * The recipe itself must hold.
 *
 * @param {Record<string, number>} bounds
 * @param {import('../../tools/spin/search.mjs').Effort} effort
 * @returns {Question}
 */
function holds(bounds, effort) {
  const defines = bounded(bounds);
  return {
    reachesAll: bounds.stops !== 0, // Else no candidate leaves the queue.
    name: 'recipe',
    what: "Conclave's",
    property: NOTHING_BREAKS,
    search: { defines, kind: 'states', effort },
  };
}

/**
 * The recipe goes round in no circle, not even where a candidate stands still for ever.
 *
 * @param {Record<string, number>} bounds
 * @param {import('../../tools/spin/search.mjs').Effort} effort
 * @returns {Question}
 */
function ends(bounds, effort) {
  const defines = bounded(bounds);
  return {
    name: 'recipe',
    what: "Conclave's",
    property: ALL_LEAD,
    search: { defines, kind: 'cycles', effort },
  };
}

/**
 * A candidate finds that it is its turn, or that it leads, and it isn't so.
 *
 * @param {string} name
 * @param {string} promise
 * @param {string} what
 * @returns {Question}
 */
function breaksPromise(name, promise, what) {
  const defines = [...bounded(SMALL), name, `ONLY=${promise}`];
  return {
    ...{ name, what, property: promise, breaks: 'assertion violated' },
    search: { defines, kind: 'states', only: 'promises' },
  };
}

/**
 * @param {string} name
 * @param {string} what
 * @returns {Question}
 */
function deadlocks(name, what) {
  return {
    ...{ name, what, property: 'no deadlock', breaks: 'invalid end state' },
    search: { defines: [...bounded(SMALL), name], kind: 'states', only: 'deadlocks' },
  };
}

/**
 * @param {string} name
 * @param {string} what
 * @returns {Question}
 */
function goesRound(name, what) {
  return {
    ...{ name, what, property: ALL_LEAD, breaks: 'acceptance cycle' },
    search: { defines: [...bounded(SMALL), name], kind: 'fair cycles' },
  };
}

/** Each leaves out one of the recipe's precautions, or takes one that isn't enough. Each promise is broken by one at least. */
export const VARIANTS = [
  deadlocks('NO_UUID', 'a create without a reply is sent again'),
  breaksPromise('NO_UUID', 'NOTHING_LEFT', 'a create without a reply is sent again, and then it is stopped'),
  deadlocks('NO_BARRIER', 'its node is looked for without a committed write before'),
  breaksPromise('ADOPT_GHOST', 'NODE_IS_OURS', 'the node of a former session is taken for its own'),
  deadlocks('WATCH_GAP', 'one request asks for the one ahead, the next one watches it'),
  breaksPromise('SKIP_RECHECK', 'TURN_IS_FIRST', "the end of the one ahead is taken for one's turn"),
  breaksPromise('NO_DELAY', 'ONE_ACTS', "the former leader's lease isn't waited out"),
  breaksPromise('NO_DELAY', 'TERMS_RISE', "a former leader begins to act after its lease wasn't waited out"),
  breaksPromise('LEASE_FROM_REPLY', 'ONE_ACTS', 'a lease counts from the reply, not from the sending'),
  breaksPromise('EARLY_RELEASE', 'ONE_ACTS', 'a term is given back before its work has settled'),
  breaksPromise(
    'GUESS_VACANT',
    'ONE_ACTS',
    'the next version is claimed unread, whether the record is held or vacant',
  ),
  breaksPromise('NO_PARITY', 'ONE_ACTS', 'versions of held and vacant records are not distinguished'),
  breaksPromise('NO_PARITY', 'RECORD_IS_OURS', "a version is claimed that isn't a vacant record's"),
  deadlocks('BLIND_CLAIM', 'a claim without a reply is taken for a failure'),
  deadlocks('DEFER_FOREVER', 'whom a release names is waited for without an end'),
  goesRound('DEFER_AGAIN', 'whom a release names is waited for again and again'),
];

/** Everything: a minute or two. */
export const ALL = [...WHOLE.map((bounds) => holds(bounds, 'much')), ends(SMALL, 'some'), ...VARIANTS];

/** What the tests ask: smaller bounds. */
export const QUICK = [holds(SMALL, 'some'), ends(SMALLEST, 'little'), ...VARIANTS];

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
