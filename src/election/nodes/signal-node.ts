import { parseEntry } from '../../lock/queue/order.js';

/**
 * The name of a handover's signal. It is a node by which a release tells the next candidate, whose node is `node`, that
 * it leads. The release creates the signal and deletes it, in one transaction. The candidate watches for it. The name
 * contains the version that the record has from then on. So a candidate that has read the version before knows
 * everything that the record says now.
 */
export function signalNodeOf(node: string, recordVersion: number): string {
  const id = parseEntry(node)?.id;
  if (id === undefined) throw new TypeError(`${node} is not the node of a candidate`);
  return `_b_${id}_${recordVersion}`;
}
