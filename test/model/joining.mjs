/** The searches of the model of joining and claiming in one write, and their expected results. */
import { fileURLToPath } from 'node:url';
import { breaksPromise, deadlocks, ends, holds, holdsToo } from './questions.mjs';

const NAME = 'joining';

/** Bounds within which the search visits every state, and everything holds. */
const WHOLE = [
  { candidates: 2, faults: 2, losses: 1, stops: 1, again: 1 },
  { candidates: 3, faults: 1, losses: 1, stops: 1, again: 0 },
];

/** Smaller bounds, within which the search reaches each statement of the model, and each variant fails. */
const SMALL = { candidates: 2, faults: 1, losses: 1, stops: 1, again: 1 };

/** Three candidates without a fault. */
const THREE = { candidates: 3, faults: 0, losses: 1, stops: 1, again: 0 };

/** Bounds for the search for cycles. */
const SMALLEST = { candidates: 2, faults: 1, losses: 1, stops: 1, again: 0 };

/** Each variant leaves out one precaution, or one that isn't needed. At least one variant breaks each promise. */
const VARIANTS = [
  breaksPromise(SMALL, 'NO_EXPECTED_VERSION', 'ONE_ACTS', 'the record is written at any version'),
  breaksPromise(
    SMALL,
    'NO_EXPECTED_VERSION',
    'TERMS_RISE',
    'the record is written at any version, and a term is lost',
  ),
  breaksPromise(
    SMALL,
    'NO_EXPECTED_VERSION',
    'RECORD_IS_OURS',
    'the record is written at any version, under a leader',
  ),
  breaksPromise(
    SMALL,
    'ADOPT_LOST',
    'ONE_ACTS',
    'a record that names the node of an own lost session is adopted',
  ),
  deadlocks(
    SMALL,
    'NO_BARRIER',
    'it joins again after a lost reply, and its transaction is carried out after that',
  ),
  breaksPromise(SMALL, 'NO_BARRIER', 'NOTHING_LEFT', 'the same, and its first node is left behind'),
  deadlocks(SMALL, 'REPEATED', 'it is sent again after a lost reply, and the refusal taken at its word'),
  deadlocks(SMALL, 'LEAVE_UNSEEN', 'a candidate that is stopped leaves without a look'),
  breaksPromise(SMALL, 'LEAVE_UNSEEN', 'NOTHING_LEFT', 'the same: its node is left behind'),
  holdsToo(SMALL, 'ANY_QUEUE', 'it claims a vacant record though there are other candidates'),
  holdsToo(SMALL, 'NOT_FIRST', 'the node that it makes stands last in the queue'),
];

/** @type {import('./questions.mjs').Model} */
export const JOINING = {
  about: 'joining and claiming in one write',
  path: fileURLToPath(new URL('joining.pml', import.meta.url)),
  bounds: ['candidates', 'faults', 'losses', 'stops', 'again'],
  all: [...WHOLE.map((bounds) => holds(NAME, bounds, 'much', true)), ends(NAME, SMALL, 'some'), ...VARIANTS],
  quick: [
    holds(NAME, SMALL, 'some', true),
    holds(NAME, THREE, 'some'),
    ends(NAME, SMALLEST, 'little'),
    ...VARIANTS,
  ],
};
