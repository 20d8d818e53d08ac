import { Random } from '../../support/seeded-random.js';

/** A stream of its own: the storms of a seed don't depend on it. */
const STREAM = 1;
/** Longer than a lease, which is a third of a session timeout, and about as long as faults last. */
const MAX_STALL_MS = { least: 2500, most: 6000 };

/**
 * The `maxStallMs` of a worker's process; `undefined` for none. Half of the places have it in their first process, the others in their
 * second one, and then by turns. So about half of the workers of a storm have it.
 *
 * @param place - of the worker, from 0. @param start - of its process, from 1
 */
export function maxStallMsOf(
  seed: number,
  place: number,
  start: number,
  workers: number,
): number | undefined {
  const shift = new Random(seed, STREAM).below(workers);
  if ((((place + shift) % workers) + start) % 2 === 0) return undefined;
  const random = new Random(seed, STREAM + 1 + start * workers + place);
  return Math.round(random.spread(MAX_STALL_MS.least, MAX_STALL_MS.most));
}
