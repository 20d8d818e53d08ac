import { parseEntry } from './names-and-order.js';

/**
 * The name of a contender's heartbeat node, by the name of its own node. The heartbeat node is an empty ephemeral node
 * beside it. One transaction creates both, and the contender's heartbeats raise its version. Both names contain the
 * contender's uuid, so a record that names one node also names the other.
 */
export function heartbeatNodeOf(node: string): string {
  const id = parseEntry(node)?.id;
  if (id === undefined) throw new TypeError(`${node} is not the node of a candidate`);
  return heartbeatNodeFor(id);
}

/** As {@link heartbeatNodeOf}, by the contender's uuid. */
export function heartbeatNodeFor(uuid: string): string {
  return `_h_${uuid}`;
}

/** As {@link heartbeatNodeOf}, with paths. */
export function heartbeatPathOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return `${path.slice(0, slash)}/${heartbeatNodeOf(path.slice(slash + 1))}`;
}
