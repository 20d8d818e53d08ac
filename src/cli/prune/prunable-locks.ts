import { furtherNames } from '../../overview/model/node-kind.js';
import { parseSeats } from '../../queue/agreed-seats.js';
import type { Session } from '../../session/session.js';
import { ageText, counted } from '../process/output.js';
import {
  kept,
  kindOfFamily,
  type PruneDecision,
  type PruneSearch,
  type ReadFamily,
  walk,
} from './walk-tree.js';

/**
 * The paths of locks below `root` that may be removed. The root itself stays.
 * @throws as {@link walk} does
 */
export function prunableLocks(session: Session, root: string): Promise<PruneSearch> {
  const nowMs = session.clock.date().getTime();
  return walk(session, root, (family) => {
    const isRoot = family.node.path === root;
    return {
      decision: isRoot ? undefined : decideLock(family, nowMs),
      further: furtherLocks(family, isRoot),
    };
  });
}

/** The number of seats is written once, after the node was created. Each later write is a `resize`. */
const NEVER_RESIZED = 1;

/**
 * Whether a node is the path of a lock that no process uses, and may be removed. `undefined`: nothing shows that it is the path of a lock.
 * @param nowMs - this machine's time, in milliseconds since 1970
 *
 * Conclave writes nothing to the path of a lock, and the number of seats to that of a semaphore. The servers count how many children have
 * come and gone, also after the last one. They don't say which: any persistent node without data looks like a lock once it has lost all
 * children. Removing the path of a lock needs no other precaution, because the servers refuse it while there is a contender, and the next
 * contender creates the path again.
 */
export function decideLock(family: ReadFamily, nowMs: number): PruneDecision | undefined {
  const { node, children } = family;
  const { path, data, stat } = node;
  const kind = kindOfFamily(family);
  if (kind.name === 'group' || kind.name === 'election') return undefined;
  const [other] = furtherNames(kind, children);
  if (kind.name === 'lock' || kind.name === 'read-write') return IN_USE;
  if (kind.name === 'other' && (children.length > 0 || data.length > 0 || stat.version > 0)) return undefined;
  if (children.length > 0)
    return other === undefined ? IN_USE : kept(`it has other nodes below it, ${other} for one`);
  // The servers delete containers by themselves.
  if (stat.cversion === 0 || stat.ephemeralOwner !== 0n) return undefined;
  if (stat.version > NEVER_RESIZED)
    return kept('its number of seats was changed, and processes may start with the former number');
  const seats = parseSeats(data);
  const created = `created ${ageText(stat.createdAtMs, nowMs)} ago`;
  return {
    kind: 'removable',
    description: seats === undefined ? created : `${counted(seats, 'seat')}  ${created}`,
    waitMs: 0,
    parts: [{ kind: 'delete', path, version: stat.version }],
  };
}

const IN_USE = kept('it has contenders', 'in-use');

/**
 * The children below which there may be locks. Elections, groups, and nodes with data of other kinds are left alone with all that is below
 * them.
 * @param isRoot - whether the caller has named this node: then locks may be below any data but a record or a list of shards
 */
export function furtherLocks(family: ReadFamily, isRoot: boolean): string[] {
  const kind = kindOfFamily(family);
  const isOfOthers = kind.name === 'other' && family.node.data.length > 0 && !isRoot;
  return kind.name === 'election' || isOfOthers ? [] : furtherNames(kind, family.children);
}
