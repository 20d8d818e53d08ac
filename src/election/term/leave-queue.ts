import { BadVersionError } from '../../errors.js';
import type { Contender } from '../../queue/contender.js';
import type { Stat } from '../../session/protocol/records.js';
import type { NextLeader } from '../candidates/known-next-leader.js';
import { parseRecord, type ReadRecord } from '../record/record.js';
import type { Claim } from './claim.js';
import { leaveParts } from './record-writes.js';
import { Release } from './release.js';

/**
 * Leaves the queue of an election, unless the contender is leaving with a term already. At this very moment a leader
 * may hand its term over, or the servers may carry out a late claim of this contender. Both change the version of the
 * record, on which the deletion depends. Then the contender gives the term back, as any leader does. So no candidate
 * has to wait out the lease of a candidate that never led. Never rejects.
 * @param record - the path of the record; `undefined` with several seats, where no term is handed over
 */
export function leaveQueue(
  contender: Contender,
  next: NextLeader,
  record: string | undefined,
): Promise<void> {
  return contender.leave(record === undefined ? undefined : () => leave(contender, next, record));
}

async function leave(contender: Contender, next: NextLeader, path: string): Promise<void> {
  const { session, node } = contender;
  for (;;) {
    const { connectionNumber: connection } = session;
    const { data, stat } = await session.retryUntilAnswered(() => session.getData(path));
    const { version } = stat;
    const claim = claimShownBy(contender, parseRecord(data, version), { path, stat, connection });
    if (claim !== undefined) {
      return await new Release(contender, claim, next).write(await next.find());
    }
    try {
      const leaving = () => node.commit(leaveParts({ path, version }, node.deletions));
      return void (await session.retryUntilAnswered(leaving));
    } catch (error) {
      if (!(error instanceof BadVersionError || node.raised?.deletionRefused(error))) throw error;
    }
  }
}

/** The contender's term, if the record shows one. */
function claimShownBy(
  { entry, node }: Contender,
  record: ReadRecord,
  read: { readonly path: string; readonly stat: Stat; readonly connection: number | undefined },
): Claim | undefined {
  if (record.state !== 'held' || record.node !== entry.node) return undefined;
  const { path, stat, connection } = read;
  const { version, mzxid: token } = stat;
  return { term: record.term, seat: 0, token, record: path, version, node: node.path, connection };
}
