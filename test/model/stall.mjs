/** The searches of the model of repeated heartbeats, and their expected results. */
import { fileURLToPath } from 'node:url';
import { breaksPromise, holds, holdsToo } from './questions.mjs';

const NAME = 'stall';

/** Requests are late or lost, and nodes go. */
const SLOW = { threads: 1, faults: 1, again: 1, lease: 2, stall: 3, prompt: 0 };

/** All that can act does so within a tick, except for main threads that stand still. So this asks what happens in time. */
const PROMPT = { threads: 2, faults: 1, again: 1, lease: 2, stall: 3, prompt: 1 };

const WHOLE = [
  { ...SLOW, threads: 2 },
  { ...SLOW, faults: 2, again: 2, lease: 3, stall: 4 },
  { ...PROMPT, faults: 2, again: 3, lease: 3, stall: 5 },
];

/** @param {string} variant @param {string} promise @param {string} what */
const breaks = (variant, promise, what) => breaksPromise(SLOW, variant, promise, what);

/** @param {string} variant @param {string} promise @param {string} what */
const breaksInTime = (variant, promise, what) => breaksPromise(PROMPT, variant, promise, what);

/** Each variant leaves out one rule, or replaces it by an insufficient one. At least one variant breaks each promise. */
const VARIANTS = [
  breaks('REPEATS_CREATION', 'ONE_ACTS', 'a repeat makes a heartbeat node that was deleted'),
  breaks('REPEATS_CHECK', 'ONE_ACTS', 'a repeat checks the own node and raises no version'),
  breaks('REPEATS_CHECK', 'LEASE_IS_OVER', 'a repeat begins a lease and raises no version'),
  breaks('LEASE_FROM_REPLY', 'ONE_ACTS', 'the lease of a repeat counts from its reply'),
  breaks('BACK_COUNTS', 'ONE_ACTS', 'the reply to a repeat counts though the version went back'),
  breaks('NO_REASON', 'ONE_ACTS', 'the reader of a cell does not look whether the term has ended'),
  breaks('NO_REASON', 'TERM_IS_NEWEST', 'the reader of a cell goes by the lease alone'),
  breaks('FALSE_PASSES', 'FALSE_STAYS', 'the reader of a cell does not note that the lease was over'),
  breaksInTime('REPEATS_NOTHING', 'KEPT', 'no thread repeats heartbeats'),
  breaksInTime('NO_BOUND', 'TAKEN_OVER', 'repeats go on for as long as the process lives'),
  breaksInTime('RAISED_BY_OTHERS', 'TAKEN_OVER', 'other threads raise the counter as well'),
  breaksInTime(
    'REPEATS_UNBEGUN',
    'NOT_IDLE',
    'heartbeats are repeated for a term that has not begun in the main thread',
  ),
  breaksInTime('REPEATS_CLAIM', 'NOT_IDLE', 'heartbeats are repeated behind an unanswered claim'),
  breaksInTime('REPEATS_RELEASED', 'NOT_IDLE', 'heartbeats are repeated after the release was written'),
  breaksInTime('ENDS_WITH_TERM', 'SETTLED', 'repeats end with the term, though its work settles'),
  breaksInTime('ENDS_WITH_LEASE', 'SETTLED', 'repeats end when the cell has a reason why the term is over'),
];

/** The rules of the other variants serve what happens in time: without them two candidates never act at once either. */
const HOLD_TOO = [
  holdsToo(SLOW, 'NO_BOUND', 'repeats go on for as long as the process lives'),
  holdsToo(
    SLOW,
    'REPEATS_UNBEGUN',
    'heartbeats are repeated for a term that has not begun in the main thread',
  ),
  holdsToo(SLOW, 'REPEATS_RELEASED', 'heartbeats are repeated after the release was written'),
  holdsToo(SLOW, 'ENDS_WITH_TERM', 'repeats end with the term, though its work settles'),
  holdsToo(
    SLOW,
    'BACK_CUTS',
    'as BACK_COUNTS, and other candidates count from the start on a new connection',
  ),
];

/** @type {import('./questions.mjs').Model} */
export const STALL = {
  about: 'repeated heartbeats',
  path: fileURLToPath(new URL('stall.pml', import.meta.url)),
  bounds: ['threads', 'faults', 'again', 'lease', 'stall', 'prompt'],
  all: [...WHOLE.map((bounds) => holds(NAME, bounds, 'much')), ...HOLD_TOO, ...VARIANTS],
  quick: [holds(NAME, SLOW, 'some', true), holds(NAME, PROMPT, 'some', true), ...VARIANTS],
};
