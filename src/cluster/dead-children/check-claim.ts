import { parseRecord, recordPath } from '../../election/record/record.js';
import type { ReleasableClaim } from '../../election/term/claim.js';
import { parseEntry } from '../../queue/names-and-order.js';
import type { NodeData, Stat } from '../../session/protocol/records.js';

/** The two nodes that a claim names, as ZooKeeper has them; `undefined` for a node that doesn't exist. */
export interface ClaimNodes {
  readonly record: NodeData | undefined;
  readonly node: Stat | undefined;
}

/** Whether a reported claim agrees with ZooKeeper. */
export type ClaimCheck =
  | { readonly kind: 'valid'; readonly nodeVersion: number } // The session leads this term, with its node at this version.
  | { readonly kind: 'outdated' } // The term has ended: the process died before it could report that.
  | { readonly kind: 'wrong'; readonly why: string }; // The session doesn't lead what the process reported.

const SEAT = /^\/seat-(\d+)$/;

/** Whether the claim's node is a candidate's, directly below the election whose record, or whose seat's, the claim names. */
export function isOfOneElection({ record, node }: ReleasableClaim): boolean {
  const slash = node.lastIndexOf('/');
  const [election, name] = [node.slice(0, slash), node.slice(slash + 1)];
  if (parseEntry(name) === undefined) return false;
  const seat = SEAT.exec(record.slice(election.length))?.[1];
  return record === recordPath(election, seat === undefined ? undefined : Number(seat));
}

/**
 * Compares a claim that a process has reported with what was read from ZooKeeper.
 *
 * @param isOwn - whether the node belongs to the session that was taken over
 */
export function checkClaim(
  claim: ReleasableClaim,
  { record, node }: ClaimNodes,
  isOwn: (node: Stat) => boolean,
): ClaimCheck {
  if (node === undefined || record === undefined) return { kind: 'outdated' };
  if (!isOwn(node)) return { kind: 'wrong', why: `${claim.node} belongs to another session` };
  const found = parseRecord(record.data, record.stat.version);
  const name = claim.node.slice(claim.node.lastIndexOf('/') + 1);
  if (found.state !== 'held' || found.node !== name || found.term !== claim.term)
    return { kind: 'wrong', why: `${claim.record} does not say that ${name} leads term ${claim.term}` };
  // Written since the claim.
  if (record.stat.version !== claim.version) return { kind: 'outdated' };
  return { kind: 'valid', nodeVersion: node.version };
}
