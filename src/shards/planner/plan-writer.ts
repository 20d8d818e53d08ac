import type { Term } from '../../election/term/term.js';
import { NoNodeError } from '../../errors.js';
import type { Session } from '../../session/session.js';

const MOST_BYTES = 200_000; // Of plans in a transaction; ZooKeeper takes 1 MB. The longest plan of 100,000 shards has 700,000.

/** A plan that is to be written. */
export interface PlanChange {
  readonly path: string;
  readonly data: Buffer;
}

/**
 * Writes plans for a term of the planner, those that fit together in one transaction. The plan of a member that has gone meanwhile is left
 * out, and the others are written without it.
 * @returns `false`: not all of the plans were written
 * @throws TermEndedError if it is no longer the planner, and what a server refuses
 */
export async function writePlans(
  session: Session,
  term: Term,
  changes: readonly PlanChange[],
): Promise<boolean> {
  let isComplete = true;
  for (const batch of inBatches(changes)) {
    for (let left = batch; left.length > 0; ) {
      const refused = await writeBatch(session, term, left);
      if (refused === undefined) break;
      isComplete = false;
      left = left.filter((change) => change !== refused);
    }
  }
  return isComplete;
}

/** @returns the change whose node isn't there: none was written. `undefined`: all were */
async function writeBatch(
  session: Session,
  term: Term,
  batch: readonly PlanChange[],
): Promise<PlanChange | undefined> {
  const transaction = term.transaction();
  for (const { path, data } of batch) transaction.setData(path, data);
  try {
    await transaction.commit();
    return undefined;
  } catch (error) {
    const gone = error instanceof NoNodeError ? error.path : undefined;
    const refused = batch.find(({ path }) => session.absolute(path) === gone);
    if (refused === undefined) throw error;
    return refused;
  }
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
