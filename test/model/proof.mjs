/** The searches of the model of the proof rule, and their expected results. */
import { fileURLToPath } from 'node:url';
import { breaksPromise, holds, holdsToo } from './questions.mjs';

const NAME = 'proof';

/** Bounds within which the search visits every state, and everything holds. */
const WHOLE = [
  { candidates: 2, faults: 2, again: 2, beats: 1, lease: 3, early: 1 },
  { candidates: 2, faults: 1, again: 1, beats: 2, lease: 2, early: 1 },
  { candidates: 3, faults: 1, again: 0, beats: 1, lease: 2, early: 0 },
];

/** Smaller bounds, within which the search reaches each statement of the model. */
const SMALL = { candidates: 2, faults: 1, again: 1, beats: 1, lease: 2, early: 1 };

/** Three candidates: one without a fault, and one with leases of one tick. */
const THREE = [
  { candidates: 3, faults: 0, again: 1, beats: 1, lease: 2, early: 0 },
  { candidates: 3, faults: 1, again: 0, beats: 1, lease: 1, early: 0 },
];

/** @param {string} variant @param {string} promise @param {string} what */
const breaks = (variant, promise, what) => breaksPromise(SMALL, variant, promise, what);

/** Each variant leaves out one precaution, or replaces it by an insufficient one. At least one variant breaks each promise. */
const VARIANTS = [
  holdsToo(SMALL, 'CREATION_COUNTS', 'the creation of the nodes begins a lease'),
  breaks('PLAIN_PROOF', 'ONE_ACTS', 'a proof raises no version'),
  breaks('PLAIN_WAIT', 'ONE_ACTS', 'a waiting candidate only checks its node'),
  breaks('PLAIN_LOOK', 'ONE_ACTS', 'a look after a lost reply begins a lease and raises no version'),
  breaks('PLAIN_CLAIM', 'ONE_ACTS', 'a claim begins a lease and raises no version'),
  breaks('PLAIN_GUARD', 'ONE_ACTS', 'a guarded write begins a lease and raises no version'),
  breaks('NO_CHECK', 'ONE_ACTS', 'a proof does not check the own node'),
  breaks('FROM_SENDING', 'ONE_ACTS', 'the delay counts from the sending of the read'),
  breaks('GONE_FROM_VERSION', 'ONE_ACTS', 'a node that is gone is waited out from its last known version'),
  breaks('NO_DELAY', 'ONE_ACTS', 'a node that is gone is not waited out'),
  breaks('SHORT_DELAY', 'LEASE_IS_OVER', 'the delay is shorter than the lease'),
  breaks('ANY_VERSION', 'ONE_ACTS', 'a takeover deletes the heartbeat node at any version'),
  breaks('NO_DELETE', 'ONE_ACTS', 'a takeover checks the version and deletes nothing'),
  breaks('NO_DELETE', 'RECORD_IS_OURS', 'a leader releases a term that was taken over'),
  breaks('NO_DELETE', 'FENCED', 'a leader writes in a term that was taken over'),
  breaks('CLAIM_ANY_RECORD', 'ONE_ACTS', 'a claim writes the record at any version'),
  breaks('MADE_AGAIN', 'ONE_ACTS', 'a heartbeat node that was deleted is made again'),
  breaks('RECORD_IS_LEASE', 'ONE_ACTS', 'the record is taken for a lease'),
  breaks('LEASE_FROM_REPLY', 'ONE_ACTS', 'a lease counts from the reply'),
  breaks('WORK_GOES_ON', 'TERM_IS_NEWEST', 'a leader releases its term before its work has settled'),
  breaks('TAKEN_UP', 'TERM_IS_NEWEST', 'a leader goes on while its release is under way'),
  breaks('RELEASE_KEEPS', 'FENCED', 'a release keeps the nodes'),
  breaks('GUARDS_THE_LIVING', 'TERM_IS_NEWEST', 'a guardian gives back the term of a process that lives'),
];

/** @type {import('./questions.mjs').Model} */
export const PROOF = {
  about: 'the proof rule',
  path: fileURLToPath(new URL('proof.pml', import.meta.url)),
  bounds: ['candidates', 'faults', 'again', 'beats', 'lease', 'early'],
  all: [...WHOLE.map((bounds) => holds(NAME, bounds, 'much')), ...VARIANTS],
  quick: [
    holds(NAME, SMALL, 'some', true),
    ...THREE.map((bounds) => holds(NAME, bounds, 'some')),
    ...VARIANTS,
  ],
};
