import { BadVersionError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import type { Stat } from '../../session/protocol/records.js';
import { parseRecord, type ReadRecord } from '../nodes/record.js';
import type { SuccessorSearch } from '../successor/successor-search.js';
import type { Claim } from './claim.js';
import { Release } from './release.js';

/**
 * Leaves the queue of an election, unless the contender is leaving with a term already. A leader may hand its term over in this very
 * moment, or a claim of the contender's own be carried out late: the deletion depends on the version of the record, which either changes.
 * Then the term is given back, as by any leader: no candidate has to wait out the lease of one that never led. Never rejects.
 * @param record - the path of the record; `undefined` with several seats, where no term is handed over
 */
export function leaveQueue(
  contender: Contender,
  search: SuccessorSearch,
  record: string | undefined,
): Promise<void> {
  return contender.leave(record === undefined ? undefined : () => leave(contender, search, record));
}

async function leave(contender: Contender, search: SuccessorSearch, path: string): Promise<void> {
  const { session, node } = contender;
  for (;;) {
    const { connectionNumber: connection } = session;
    const { data, stat } = await session.retryUntilAnswered(() => session.getData(path));
    const { version } = stat;
    const claim = claimShownBy(contender, parseRecord(data, version), { path, stat, connection });
    if (claim !== undefined) {
      // If it isn't allowed to read that, the queue decides. An end of the session ends the release as well.
      const successor = await search.next(contender.entry).catch(() => undefined);
      return await new Release(contender, claim).write({ successor });
    }
    try {
      const deletion = { kind: 'delete', path: node.path } as const;
      const parts = [{ kind: 'check', path, version } as const, deletion, ...node.heartbeatDeletion];
      return void (await session.retryUntilAnswered(() => node.commit(parts)));
    } catch (error) {
      if (!(error instanceof BadVersionError || node.raised?.deletionRefused(error))) throw error;
    }
  }
}

/** The term that the record shows to be the contender's. */
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
