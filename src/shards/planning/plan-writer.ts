import type { Term } from '../../election/term/term.js';
import { NoNodeError } from '../../errors.js';

const MOST_BYTES = 200_000; // Of plans in a transaction; ZooKeeper takes 1 MB. The longest plan of 100,000 shards has 700,000.

/** A plan that is to be written. */
export interface PlanChange {
  readonly path: string;
  readonly data: Buffer;
}

/**
 * Writes plans for a term of the planner, those that fit together in one transaction.
 * @returns `false`: a member has gone meanwhile, and not all of the plans were written
 * @throws TermEndedError if it isn't the planner any more, and what a server refuses
 */
export async function writePlans(term: Term, changes: readonly PlanChange[]): Promise<boolean> {
  let isComplete = true;
  for (const batch of inBatches(changes)) {
    const transaction = term.transaction();
    for (const { path, data } of batch) transaction.setData(path, data);
    try {
      await transaction.commit();
    } catch (error) {
      if (!(error instanceof NoNodeError)) throw error;
      isComplete = false;
    }
  }
  return isComplete;
}

/** As many together as a transaction takes. */
function inBatches(changes: readonly PlanChange[]): PlanChange[][] {
  const batches: PlanChange[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const change of changes) {
    bytes += change.data.length;
    if (bytes > MOST_BYTES) {
      batches.push([]);
      bytes = change.data.length;
    }
    batches.at(-1)?.push(change);
  }
  return batches;
}
