/** The searches of the model of the recipe, and their expected results. */
import { fileURLToPath } from 'node:url';
import { breaksPromise, deadlocks, ends, holds, holdsToo } from './questions.mjs';

const NAME = 'recipe';

/** Bounds within which the search visits every state of the whole recipe, and everything holds. */
const WHOLE = [
  { faults: 1, losses: 1, stops: 1, calls: 1, again: 1 },
  { faults: 2, losses: 1, stops: 0, calls: 1, again: 0 },
  { faults: 1, losses: 0, stops: 1, calls: 2, again: 1 },
];

/** Smaller bounds, within which the search reaches each statement of the model, and nearly each variant fails. */
const SMALL = { faults: 1, losses: 1, stops: 1, calls: 1, again: 0 };

/** Bounds within which a candidate is chosen, and then changes its node. */
const CHANGED = { faults: 1, losses: 0, stops: 0, calls: 2, again: 0 };

/** Bounds for a quick search. */
const SMALLEST = { faults: 1, losses: 0, stops: 0, calls: 1, again: 0 };

/** Each variant leaves out one of the recipe's precautions, or replaces it by an insufficient one. At least one breaks each promise. */
const VARIANTS = [
  deadlocks(SMALL, 'NO_UUID', 'a create without a reply is sent again'),
  breaksPromise(
    SMALL,
    'NO_UUID',
    'NOTHING_LEFT',
    'a create without a reply is sent again, and then it is stopped',
  ),
  deadlocks(SMALL, 'NO_BARRIER', 'its node is looked for without a committed write before'),
  breaksPromise(SMALL, 'ADOPT_GHOST', 'NODE_IS_OURS', 'the node of a former session is taken for its own'),
  deadlocks(SMALL, 'WATCH_GAP', 'one request asks for the one ahead, the next one watches it'),
  breaksPromise(SMALL, 'SKIP_RECHECK', 'TURN_IS_FIRST', "the end of the one ahead is taken for one's turn"),
  breaksPromise(SMALL, 'NO_DELAY', 'ONE_ACTS', "the former leader's lease isn't waited out"),
  breaksPromise(
    SMALL,
    'NO_DELAY',
    'TERMS_RISE',
    "a former leader begins to act after its lease wasn't waited out",
  ),
  deadlocks(SMALL, 'BLIND_CLAIM', 'a claim without a reply is taken for a failure'),
  breaksPromise(
    SMALL,
    'UNREAD_CLAIM',
    'ONE_ACTS',
    'the version behind a held record is claimed unread, as if only a vacant one came there',
  ),
  breaksPromise(SMALL, 'UNREAD_CLAIM', 'RECORD_IS_OURS', 'a version is claimed that may be held'),
  breaksPromise(SMALL, 'NO_CHECK', 'NOTHING_HELD', "the release doesn't depend on the successor's node"),
  breaksPromise(SMALL, 'PLAIN_LEAVE', 'NOTHING_HELD', 'a candidate leaves without the check of the record'),
  deadlocks(SMALL, 'NO_MARK', "only the deletion of the leader's node tells of any handover"),
  deadlocks(SMALL, 'MARK_LATER', 'the mark is written after the release, in a transaction of its own'),
  breaksPromise(
    SMALL,
    'MARK_BEFORE',
    'ONE_ACTS',
    'the mark is written before the release, and taken for the term',
  ),
  holdsToo(SMALL, 'MARK_ALONE', "the record isn't read: the release has written the mark with it"),
  deadlocks(SMALL, 'DEAF', 'after a lost connection nobody watches the own node'),
  deadlocks(CHANGED, 'BLIND_CHANGE', 'a candidate overwrites the mark with what it advertises'),
];

/** @type {import('./questions.mjs').Model} */
export const RECIPE = {
  about: "the election's recipe",
  path: fileURLToPath(new URL('recipe.pml', import.meta.url)),
  bounds: ['faults', 'losses', 'stops', 'calls', 'again'],
  all: [
    // Without stops no candidate leaves the queue, and without losses no candidate looks for its node.
    ...WHOLE.map((bounds) => holds(NAME, bounds, 'much', bounds.stops * bounds.losses > 0)),
    ends(NAME, SMALL, 'some'),
    ...VARIANTS,
  ],
  quick: [holds(NAME, SMALL, 'some', true), ends(NAME, SMALLEST, 'little'), ...VARIANTS],
};
