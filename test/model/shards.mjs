/** The searches of the model of shards, and their expected results. */
import { fileURLToPath } from 'node:url';
import { breaksPromise, holds, holdsToo } from './questions.mjs';

const NAME = 'shards';
const SMALL = { members: 2, faults: 1, checks: 0 };
const WITH_CHECKS = { members: 2, faults: 1, checks: 1 };
const ALL_CHECKS = { members: 2, faults: 1, checks: 2 };

/** Variants without a precaution that isn't needed. Conclave takes these precautions all the same, because they cost nothing. */
const HOLD_TOO = [
  holdsToo(SMALL, 'PROVED_AT_FIRST', 'the servers prove only when the delay begins that a member is gone'),
  holdsToo(SMALL, 'FENCE_BY_RECORD', 'a guarded write checks the record alone'),
];

/** Each variant leaves out one precaution, or replaces it by an insufficient one. At least one variant breaks each promise. */
const VARIANTS = [
  breaksPromise(SMALL, 'NO_TOMBSTONE', 'ONE_ACTS', 'a claim needs neither a tombstone nor a delay'),
  breaksPromise(SMALL, 'CLAIM_ANY_VERSION', 'ONE_ACTS', 'a claim depends on no version of the record'),
  breaksPromise(SMALL, 'TOMBSTONE_AT_ANY_VERSION', 'ONE_ACTS', 'a tombstone depends on no version'),
  breaksPromise(SMALL, 'EARLY_TOMBSTONE', 'ONE_ACTS', 'a tombstone comes a tick before the lease is over'),
  breaksPromise(SMALL, 'TOMBSTONE_AT_ONCE', 'ONE_ACTS', 'a member that is gone has a tombstone at once'),
  breaksPromise(
    SMALL,
    'BELIEVED',
    'ONE_ACTS',
    'a listing that does not show a member proves that it is gone',
  ),
  breaksPromise(
    SMALL,
    'PROVED_AT_THE_END',
    'ONE_ACTS',
    'the delay counts from such a listing, and the servers prove only at its end that the member is gone',
  ),
  breaksPromise(SMALL, 'GIVEN_EARLY', 'ONE_ACTS', 'a shard is given back before its work has settled'),
  breaksPromise(SMALL, 'TAKEN_UP', 'ONE_ACTS', 'a shard is taken up again before its release is answered'),
  breaksPromise(SMALL, 'RELEASE_ANY_VERSION', 'NAMED', 'a release depends on no version of the record'),
  breaksPromise(SMALL, 'FENCE_BY_MEMBER', 'FENCED', "a guarded write checks the member's node alone"),
];

/** These variants fail as well, after a few million states. */
const LATE_VARIANTS = [
  breaksPromise(
    SMALL,
    'TOMBSTONE_FROM_SENDING',
    'ONE_ACTS',
    'the delay counts from when the look was sent that shows the version',
  ),
  breaksPromise(
    WITH_CHECKS,
    'CHECKS_COUNT',
    'ONE_ACTS',
    'a member whose heartbeats raise no version is taken for silent',
  ),
  breaksPromise(SMALL, 'PLAN_OWNS', 'ONE_ACTS', 'a plan is taken for ownership'),
];

/** @type {import('./questions.mjs').Model} */
export const SHARDS = {
  about: 'shards',
  path: fileURLToPath(new URL('shards.pml', import.meta.url)),
  bounds: ['members', 'faults', 'checks'],
  all: [holds(NAME, ALL_CHECKS, 'some', true), ...HOLD_TOO, ...VARIANTS, ...LATE_VARIANTS],
  quick: [holds(NAME, SMALL, 'some', true), ...VARIANTS],
};
