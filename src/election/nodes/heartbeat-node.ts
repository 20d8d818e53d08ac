import { parseEntry } from '../../lock/queue/order.js';

/**
 * The name of the heartbeat node of the candidate whose node has that name: an empty ephemeral node beside it, whose version
 * its heartbeats raise. It has the candidate's uuid, so a record that names the one names the other.
 */
export function heartbeatNodeOf(node: string): string {
  const id = parseEntry(node)?.id;
  if (id === undefined) throw new TypeError(`${node} is no candidate's node`);
  return `_h_${id}`;
}

/** {@link heartbeatNodeOf}, of paths. */
export function heartbeatPathOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return `${path.slice(0, slash)}/${heartbeatNodeOf(path.slice(slash + 1))}`;
}
