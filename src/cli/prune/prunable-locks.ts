import { furtherNames, kindOf } from '../../overview/model/node-kind.js';
import { parseSeats } from '../../queue/agreed-seats.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { durationText } from '../process/output.js';
import type { Kept, KeptPath, PruneSearch, PruneTarget } from './remove-nodes.js';
import { type ReadFamily, walk } from './walk-tree.js';

/**
 * The paths of locks below `root` that may be removed. The root itself stays.
 * @throws as {@link walk} does
 */
export async function prunableLocks(session: Session, root: string): Promise<PruneSearch> {
  const nowMs = session.clock.date().getTime();
  const removable: PruneTarget[] = [];
  const kept: KeptPath[] = [];
  const { found, unreadable } = await walk(session, root, (family) => {
    const { path } = family.node;
    const isRoot = path === root;
    const decision = isRoot ? NO_LOCK : decideLock(family);
    return { found: { path, decision }, further: furtherLocks(family, isRoot) };
  });
  for (const { path, decision } of found) {
    if (decision.kind === 'kept') kept.push({ path, ...decision });
    if (decision.kind === 'removable')
      removable.push({ path, description: describe(decision, nowMs), waitMs: 0, parts: decision.parts });
  }
  return { removable, kept, unreadable };
}

function describe(
  { seats, createdAtMs }: Extract<LockDecision, { kind: 'removable' }>,
  nowMs: number,
): string {
  const created = `created ${durationText(Math.max(0, nowMs - createdAtMs))} ago`;
  return seats === undefined ? created : `${seats} seat${seats === 1 ? '' : 's'}  ${created}`;
}

/** What prune does with a node that may be the path of a lock. */
export type LockDecision =
  | {
      readonly kind: 'removable';
      /** A semaphore's; `undefined` for any other lock. */
      readonly seats: number | undefined;
      /** When its node was created by the servers' clock, in milliseconds since 1970. */
      readonly createdAtMs: number;
      /** Deletes the node, unless it was written since it was read. */
      readonly parts: readonly TransactionPart[];
    }
  | Kept
  /** Nothing shows that it is the path of a lock. */
  | { readonly kind: 'no-lock' };

/** The number of seats is written once, after the node was created. Each later write is a `resize`. */
const NEVER_RESIZED = 1;

/**
 * Whether a node is the path of a lock that no process uses, and may be removed.
 *
 * Conclave writes nothing to the path of a lock, and the number of seats to that of a semaphore. The servers count how many children have
 * come and gone, also after the last one. They don't say which: any persistent node without data looks like a lock once it has lost all
 * children. Removing the path of a lock needs no other precaution, because the servers refuse it while there is a contender, and the next
 * contender creates the path again.
 */
export function decideLock({ node: { path, data, stat }, children }: ReadFamily): LockDecision {
  const kind = kindOf({ data, version: stat.version, names: children });
  if (kind.name === 'group' || kind.name === 'election') return NO_LOCK;
  const [other] = furtherNames(kind, children);
  if (kind.name === 'lock' || kind.name === 'read-write') return IN_USE;
  if (kind.name === 'other' && (children.length > 0 || data.length > 0 || stat.version > 0)) return NO_LOCK;
  if (children.length > 0)
    return other === undefined ? IN_USE : kept(`it has other nodes below it, ${other} for one`);
  // The servers delete containers by themselves.
  if (stat.cversion === 0 || stat.ephemeralOwner !== 0n) return NO_LOCK;
  if (stat.version > NEVER_RESIZED)
    return kept('its number of seats was changed, and processes may start with the former number');
  return {
    kind: 'removable',
    seats: parseSeats(data),
    createdAtMs: stat.createdAtMs,
    parts: [{ kind: 'delete', path, version: stat.version }],
  };
}

const NO_LOCK: LockDecision = { kind: 'no-lock' };
const IN_USE: LockDecision = { kind: 'kept', why: 'in-use', reason: 'it has contenders' };

function kept(reason: string): Kept {
  return { kind: 'kept', why: 'other', reason };
}

/**
 * The children below which there may be locks. Elections, groups, and nodes with data of other kinds are left alone with all that is below
 * them.
 * @param isRoot - whether the caller has named this node: then locks may be below any data but a record or a list of shards
 */
export function furtherLocks({ node: { data, stat }, children }: ReadFamily, isRoot: boolean): string[] {
  const kind = kindOf({ data, version: stat.version, names: children });
  const isOfOthers = kind.name === 'other' && data.length > 0 && !isRoot;
  return kind.name === 'election' || isOfOthers ? [] : furtherNames(kind, children);
}
