import { parseRecord, recordPath } from '../../election/nodes/record.js';
import type { ReleasableClaim } from '../../election/term/claim.js';
import { parseEntry } from '../../lock/queue/order.js';
import type { NodeData, Stat } from '../../session/protocol/records.js';

/** What ZooKeeper says of the two nodes that a deed names; `undefined` for a node that isn't there. */
export interface DeedNodes {
  readonly record: NodeData | undefined;
  readonly node: Stat | undefined;
}

/** What a deed is worth, by what ZooKeeper says. */
export type DeedCheck =
  /** The session leads this term, with its node at this version. */
  | { readonly kind: 'valid'; readonly nodeVersion: number }
  /** The term has ended: the process died before it could say so. */
  | { readonly kind: 'outdated' }
  /** The session doesn't lead what the process said. */
  | { readonly kind: 'wrong'; readonly why: string };

const SEAT = /^\/seat-(\d+)$/;

/** Whether the deed's node is a candidate's, directly below the election whose record, or whose seat's, the deed names. */
export function isOfOneElection({ record, node }: ReleasableClaim): boolean {
  const slash = node.lastIndexOf('/');
  const [election, name] = [node.slice(0, slash), node.slice(slash + 1)];
  if (parseEntry(name) === undefined) return false;
  const seat = SEAT.exec(record.slice(election.length))?.[1];
  return record === recordPath(election, seat === undefined ? undefined : Number(seat));
}

/**
 * Compares a deed, which is only what a process has said, with what was read from ZooKeeper.
 *
 * @param isOwn - whether the node belongs to the session that was taken over
 */
export function checkDeed(
  deed: ReleasableClaim,
  { record, node }: DeedNodes,
  isOwn: (node: Stat) => boolean,
): DeedCheck {
  if (node === undefined || record === undefined) return { kind: 'outdated' };
  if (!isOwn(node)) return { kind: 'wrong', why: `${deed.node} belongs to another session` };
  const found = parseRecord(record.data, record.stat.version);
  const name = deed.node.slice(deed.node.lastIndexOf('/') + 1);
  if (found.state !== 'held' || found.node !== name || found.term !== deed.term)
    return { kind: 'wrong', why: `${deed.record} does not say that ${name} leads term ${deed.term}` };
  // Written since: the versions of records tell held from vacant, so nothing is given back by guess.
  if (record.stat.version !== deed.version) return { kind: 'outdated' };
  return { kind: 'valid', nodeVersion: node.version };
}
