import type { Session } from '../../session/session.js';
import { durationText } from '../process/duration-text.js';
import { EXIT } from '../process/exit-codes.js';
import { printable, printError } from '../process/output.js';
import { UserError } from '../process/user-error.js';
import type { PruneSearch, PruneTarget, Where } from './prunable.js';
import { decideLock, furtherLocks, type LockDecision } from './unused-lock.js';
import { readFamily, walk } from './walk.js';

/** The path of a lock, and what to do with it. */
interface FoundLock {
  readonly path: string;
  readonly decision: Exclude<LockDecision, { kind: 'no-lock' }>;
}

/**
 * The paths of locks that may be removed. Of a root those below it: the root itself stays. Prints which others are kept, unless they are
 * in use, and which nodes it may not read.
 * @throws UserError if the path that the user has named isn't that of a lock, or is kept; or what ended the session
 */
export async function prunableLocks(session: Session, where: Where): Promise<PruneSearch> {
  const nowMs = session.clock.date().getTime();
  const removable: PruneTarget[] = [];
  let inUse = 0;
  for (const { path, decision } of await read(session, where)) {
    if (decision.kind === 'removable')
      removable.push({ path, description: describe(decision, nowMs), waitMs: 0, parts: decision.parts });
    else if ('path' in where)
      throw new UserError(EXIT.notInTime, `${printable(path)} is kept: ${printable(decision.reason)}`);
    else if (decision.why === 'contenders') inUse++;
    else printError(`${printable(path)} is kept: ${printable(decision.reason)}`);
  }
  return { removable, inUse };
}

async function read(session: Session, where: Where): Promise<readonly FoundLock[]> {
  if ('root' in where) {
    const { found, unreadable } = await walk<FoundLock>(session, where.root, (family) => {
      const { path } = family.node;
      const isRoot = path === where.root;
      const decision = decideLock(family);
      const found = isRoot || decision.kind === 'no-lock' ? undefined : { path, decision };
      return { found, further: furtherLocks(family, isRoot) };
    });
    for (const path of unreadable) printError(`${printable(path)} can't be read: no permission`);
    return found;
  }
  const { path } = where;
  const family = await readFamily(session, path);
  const decision = family === undefined ? undefined : decideLock(family);
  if (decision === undefined || decision.kind === 'no-lock')
    throw new UserError(EXIT.usage, `${printable(path)} is not the path of a lock that was ever used`);
  return [{ path, decision }];
}

function describe(
  { seats, createdAtMs }: Extract<LockDecision, { kind: 'removable' }>,
  nowMs: number,
): string {
  const created = `created ${durationText(Math.max(0, nowMs - createdAtMs))} ago`;
  return seats === undefined ? created : `${seats} seat${seats === 1 ? '' : 's'}  ${created}`;
}
