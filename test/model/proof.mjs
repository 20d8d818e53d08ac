/** The searches of the model of the proof rule, and their expected results. */
import { fileURLToPath } from 'node:url';
import { breaksPromise, holds, holdsToo } from './questions.mjs';

const NAME = 'proof';

/** Bounds within which the search visits every state, and everything holds. */
const WHOLE = [
  { candidates: 2, faults: 2, again: 2, beats: 1, lease: 3, strangers: 2, guesses: 0 },
  { candidates: 2, faults: 2, again: 2, beats: 1, lease: 2, strangers: 1, guesses: 1 },
  { candidates: 2, faults: 1, again: 1, beats: 2, lease: 2, strangers: 1, guesses: 0 },
  { candidates: 3, faults: 1, again: 0, beats: 1, lease: 2, strangers: 1, guesses: 0 },
];

/** Smaller bounds, within which the search reaches each statement of the model. */
const SMALL = { candidates: 2, faults: 1, again: 1, beats: 1, lease: 2, strangers: 1, guesses: 0 };

/** The same, with candidates that send a proof before they know that the record names them. */
const GUESSING = { ...SMALL, guesses: 1 };

/** Three candidates: one without a fault, and one with leases of one tick. */
const THREE = [
  { candidates: 3, faults: 0, again: 1, beats: 1, lease: 2, strangers: 1, guesses: 0 },
  { candidates: 3, faults: 1, again: 0, beats: 1, lease: 1, strangers: 1, guesses: 0 },
];

/** @param {string} variant @param {string} promise @param {string} what */
const breaks = (variant, promise, what) => breaksPromise(SMALL, variant, promise, what);

/** Each variant leaves out one precaution, or replaces it by an insufficient one. At least one variant breaks each promise. */
const VARIANTS = [
  holdsToo(SMALL, 'UNEQUAL', 'the first candidate has a longer lease than the others'),
  holdsToo(SMALL, 'NEWER', 'the others cannot read what the first candidate writes'),
  holdsToo(SMALL, 'CREATION_COUNTS', 'the creation of the nodes begins a lease'),
  holdsToo(SMALL, 'NO_DELETE', 'a takeover checks the version and deletes nothing'),
  holdsToo(SMALL, 'PLAIN_CLAIM', 'a claim raises no version'),
  breaks('NODES_ALONE', 'ONE_ACTS', 'a proof checks the nodes, and not the record'),
  breaks('WAITING_COUNTS', 'ONE_ACTS', 'a waiting candidate proves its nodes alone, and that lease counts'),
  breaksPromise(
    GUESSING,
    'GUESS_COUNTS',
    'ONE_ACTS',
    'a proof at another version than that of the term counts',
  ),
  breaks('GUARD_NODE_ALONE', 'FENCED', 'a guarded write checks the own node, and not the record'),
  breaks('OWN_DELAY', 'ONE_ACTS', 'an empty record is waited out for the own lease'),
  breaks(
    'NEVER_EMPTIED',
    'ONE_ACTS',
    'a record that cannot be read is waited out and claimed, and not emptied before',
  ),
  breaks('PLAIN_PROOF', 'ONE_ACTS', 'a proof, or a guarded write, begins a lease and raises no version'),
  breaks('PLAIN_LOOK', 'ONE_ACTS', 'a look after a lost reply begins a lease and raises no version'),
  breaks('NO_CHECK', 'ONE_ACTS', 'a proof does not check the own node'),
  breaks('FROM_SENDING', 'ONE_ACTS', 'the delay counts from the sending of the read'),
  breaks('GONE_FROM_VERSION', 'ONE_ACTS', 'a node that is gone is waited out from its last known version'),
  breaks('NO_DELAY', 'ONE_ACTS', 'a node that is gone is not waited out'),
  breaks('SHORT_DELAY', 'LEASE_IS_OVER', 'the delay is shorter than the lease'),
  breaks('ANY_VERSION', 'ONE_ACTS', 'a takeover deletes the heartbeat node at any version'),
  breaks('CLAIM_ANY_RECORD', 'ONE_ACTS', 'a claim writes the record at any version'),
  breaks('MADE_AGAIN', 'ONE_ACTS', 'a heartbeat node that was deleted is made again'),
  breaks('RECORD_IS_LEASE', 'ONE_ACTS', 'the record is taken for a lease'),
  breaks('LEASE_FROM_REPLY', 'ONE_ACTS', 'a lease counts from the reply'),
  breaks('WORK_GOES_ON', 'TERM_IS_NEWEST', 'a leader releases its term before its work has settled'),
  breaks('TAKEN_UP', 'TERM_IS_NEWEST', 'a leader goes on while its release is under way'),
  breaks('GUARDS_THE_LIVING', 'TERM_IS_NEWEST', 'a guardian gives back the term of a process that lives'),
];

/** @type {import('./questions.mjs').Model} */
export const PROOF = {
  about: 'the proof rule',
  path: fileURLToPath(new URL('proof.pml', import.meta.url)),
  bounds: ['candidates', 'faults', 'again', 'beats', 'lease', 'strangers', 'guesses'],
  all: [...WHOLE.map((bounds) => holds(NAME, bounds, 'much')), ...VARIANTS],
  quick: [
    holds(NAME, SMALL, 'some', true),
    holds(NAME, GUESSING, 'some', true),
    ...THREE.map((bounds) => holds(NAME, bounds, 'some')),
    ...VARIANTS,
  ],
};
