/** The searches of the model of takeover by lease, and their expected results. */
import { fileURLToPath } from 'node:url';
import { breaksPromise, deadlocks, holds, holdsToo } from './questions.mjs';

const NAME = 'takeover';

/** Bounds within which the search visits every state, and everything holds. */
const WHOLE = [
  { candidates: 2, faults: 2, again: 2, ways: 2, beats: 1, lease: 3 },
  { candidates: 2, faults: 2, again: 2, ways: 1, beats: 2, lease: 2 },
  { candidates: 3, faults: 1, again: 1, ways: 1, beats: 1, lease: 2 },
  { candidates: 3, faults: 1, again: 0, ways: 2, beats: 1, lease: 2 },
];

/** Smaller bounds, within which the search reaches each statement of the model. */
const SMALL = { candidates: 2, faults: 1, again: 1, ways: 2, beats: 1, lease: 2 };

/** Three candidates without a fault. */
const THREE = { candidates: 3, faults: 0, again: 0, ways: 2, beats: 1, lease: 2 };

/** Bounds within which others may follow all terms by lease. */
const BY_LEASE = { ...SMALL, ways: 1, lease: 3 };

/** Each variant leaves out one precaution, or replaces it by an insufficient one. At least one variant breaks each promise. */
const VARIANTS = [
  holdsToo(
    BY_LEASE,
    'WARM_CANDIDATES',
    'no session ends, and each candidate that claims, and each successor, has a heartbeat node',
  ),
  deadlocks(BY_LEASE, 'WARM_SUCCESSORS', 'a leader dies between its claim and its first heartbeat'),
  deadlocks(
    BY_LEASE,
    'DEAD_SESSIONS_STAY',
    'a term is handed to a process that died without a heartbeat node',
  ),
  deadlocks(
    SMALL,
    'DEAD_SESSIONS_STAY',
    'a term is followed only after the end of a session that never ends',
  ),
  breaksPromise(SMALL, 'NO_VERSION', 'ONE_ACTS', 'a heartbeat begins a lease and raises no version'),
  breaksPromise(SMALL, 'T_FROM_SENDING', 'ONE_ACTS', 'the delay counts from the sending of the read'),
  breaksPromise(SMALL, 'T_BEFORE_RECORD', 'ONE_ACTS', 'the delay counts from before the record was read'),
  breaksPromise(SMALL, 'LEASE_FROM_REPLY', 'ONE_ACTS', "a claim's lease counts from the reply"),
  breaksPromise(
    SMALL,
    'LEASE_FROM_REPLY',
    'TERM_IS_NEWEST',
    "a claim's lease begins after the term was followed",
  ),
  breaksPromise(SMALL, 'ANY_VERSION', 'ONE_ACTS', 'the heartbeat node is deleted at any version'),
  breaksPromise(SMALL, 'NO_DELETE', 'ONE_ACTS', 'the claim checks the version and deletes nothing'),
  breaksPromise(
    SMALL,
    'NO_DELETE',
    'RECORD_IS_OURS',
    'the former leader gives back a term that was followed',
  ),
  breaksPromise(SMALL, 'SHORT_DELAY', 'LEASE_IS_OVER', 'the delay is shorter than the lease'),
  breaksPromise(
    SMALL,
    'T_OF_GONE',
    'ONE_ACTS',
    'a node that is gone is waited out from its last known version',
  ),
  breaksPromise(SMALL, 'ZERO_DELAY', 'ONE_ACTS', "a node that is gone isn't waited out"),
  breaksPromise(SMALL, 'LOOK_CONFIRMS', 'ONE_ACTS', 'a look after a lost reply begins a lease'),
  breaksPromise(
    SMALL,
    'GUARD_CONFIRMS',
    'ONE_ACTS',
    'a guarded transaction, or an advertisement, begins a lease',
  ),
  breaksPromise(SMALL, 'CHECK_BEHIND_CLAIM', 'ONE_ACTS', 'a check begins a lease behind an unanswered claim'),
  breaksPromise(
    SMALL,
    'REFUSED_CHECKS',
    'ONE_ACTS',
    "a leader whose heartbeat node the servers don't make beats by checks within its term",
  ),
  breaksPromise(SMALL, 'NOTHING_COUNTS', 'ONE_ACTS', 'a heartbeat node that is missing counts as a version'),
  breaksPromise(
    SMALL,
    'REPEATS_COUNT',
    'ONE_ACTS',
    'a heartbeat that makes the node for the second time begins a lease',
  ),
  breaksPromise(SMALL, 'MODE_CHANGED', 'ONE_ACTS', 'a leader changes to checks within its term'),
  breaksPromise(SMALL, 'MADE_AGAIN', 'ONE_ACTS', 'a heartbeat node that was deleted is made again'),
  breaksPromise(SMALL, 'RECORD_IS_LEASE', 'ONE_ACTS', 'a record that was handed over is taken for a lease'),
  breaksPromise(
    SMALL,
    'HANDED_CHECKS',
    'ONE_ACTS',
    'checks begin a lease in a handed term that may be followed by lease',
  ),
];

/** @type {import('./questions.mjs').Model} */
export const TAKEOVER = {
  about: 'takeover by lease',
  path: fileURLToPath(new URL('takeover.pml', import.meta.url)),
  bounds: ['candidates', 'faults', 'again', 'ways', 'beats', 'lease'],
  all: [...WHOLE.map((bounds) => holds(NAME, bounds, 'much', bounds.again > 0)), ...VARIANTS],
  quick: [holds(NAME, SMALL, 'some', true), holds(NAME, THREE, 'some'), ...VARIANTS],
};
