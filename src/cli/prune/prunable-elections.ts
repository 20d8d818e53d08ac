import type { Session } from '../../session/session.js';
import { durationText } from '../process/duration-text.js';
import { EXIT } from '../process/exit-codes.js';
import { printable, printError } from '../process/output.js';
import { UserError } from '../process/user-error.js';
import type { ElectionNodes } from './election-nodes.js';
import type { PruneSearch, PruneTarget, Where } from './prunable.js';
import { decide } from './removable.js';
import { findElections, readElection } from './search.js';

/**
 * The elections that may be removed. Prints which others are kept, unless they are in use, and which nodes it may not read.
 * @param olderThanMs - elections that were changed later are kept, in milliseconds
 * @throws UserError if the one that the user has named is no election, or is kept; or what ended the session
 */
export async function prunableElections(
  session: Session,
  where: Where,
  olderThanMs: number,
): Promise<PruneSearch> {
  const found = await read(session, where);
  const nowMs = session.clock.date().getTime();
  const removable: PruneTarget[] = [];
  let inUse = 0;
  for (const nodes of found) {
    const decision = decide(nodes, { nowMs, olderThanMs });
    const { path } = nodes.election;
    if (decision.kind === 'removable') {
      const { term, changedAtMs, waitMs, parts } = decision;
      const description = `term ${term}  changed ${durationText(Math.max(0, nowMs - changedAtMs))} ago`;
      removable.push({ path, description, waitMs, parts });
    } else if ('path' in where)
      throw new UserError(EXIT.notInTime, `${printable(path)} is kept: ${printable(decision.reason)}`);
    else if (decision.why === 'candidates') inUse++;
    else printError(`${printable(path)} is kept: ${printable(decision.reason)}`);
  }
  return { removable, inUse };
}

async function read(session: Session, where: Where): Promise<readonly ElectionNodes[]> {
  if ('root' in where) {
    const { found, unreadable } = await findElections(session, where.root);
    for (const path of unreadable) printError(`${printable(path)} can't be read: no permission`);
    return found;
  }
  const nodes = await readElection(session, where.path);
  if (nodes === undefined)
    throw new UserError(EXIT.usage, `${printable(where.path)} is not an election that was ever led`);
  return [nodes];
}
