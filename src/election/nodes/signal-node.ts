import { parseEntry } from '../../lock/queue/order.js';

/**
 * The name of the node by which a release tells the next candidate, whose node has the name `node`, that it leads: the release creates
 * it and deletes it, in one transaction. The candidate watches for it. It is named after the version that the record has from
 * then on, so the candidate that has read the version before knows all that the record says now.
 */
export function signalNodeOf(node: string, recordVersion: number): string {
  const id = parseEntry(node)?.id;
  if (id === undefined) throw new TypeError(`${node} is no candidate's node`);
  return `_b_${id}_${recordVersion}`;
}
