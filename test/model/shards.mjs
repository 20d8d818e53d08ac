/** What is asked of the model of shards, and what must come out. */
import { fileURLToPath } from 'node:url';
import { breaksPromise, holds, holdsToo } from './questions.mjs';

const NAME = 'shards';
const SMALL = { members: 2, faults: 1 };

const VARIANTS = [
  breaksPromise(SMALL, 'NO_TOMBSTONE', 'ONE_ACTS', 'a claim needs neither a tombstone nor a delay'),
  breaksPromise(SMALL, 'TOMBSTONE_AT_ANY_VERSION', 'ONE_ACTS', 'a tombstone depends on no version'),
  breaksPromise(SMALL, 'EARLY_TOMBSTONE', 'ONE_ACTS', 'a tombstone comes a tick before the lease is over'),
  breaksPromise(
    SMALL,
    'TOMBSTONE_FROM_SENDING',
    'ONE_ACTS',
    'the delay counts from when the look was sent that shows the version',
  ),
  breaksPromise(SMALL, 'TOMBSTONE_AT_ONCE', 'ONE_ACTS', 'a member that is gone has a tombstone at once'),
  breaksPromise(SMALL, 'GIVEN_EARLY', 'ONE_ACTS', 'a shard is given back before its work has settled'),
  breaksPromise(SMALL, 'PLAN_OWNS', 'ONE_ACTS', 'a plan is taken for ownership'),
  breaksPromise(SMALL, 'FENCE_BY_MEMBER', 'FENCED', "a guarded write checks the member's node alone"),
  holdsToo(SMALL, 'FENCE_BY_RECORD', 'a guarded write checks the record alone'),
];

/** @type {import('./questions.mjs').Model} */
export const SHARDS = {
  about: 'shards',
  path: fileURLToPath(new URL('shards.pml', import.meta.url)),
  bounds: ['members', 'faults'],
  all: [holds(NAME, SMALL, 'some', true), ...VARIANTS],
  quick: [holds(NAME, SMALL, 'some', true), ...VARIANTS],
};
