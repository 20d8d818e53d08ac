import type { NodeContent } from '../../lease/ephemeral-node.js';
import { hasPriorityMark } from '../nodes/candidate-request.js';

/** Which candidate leads next, as far as a leader knows when it gives its term back. By default the next in the queue. */
export type NextInLine =
  /** The candidate with the node of that name: it was nominated. */
  | { readonly successor?: string | undefined }
  /** The next in the queue, if the leader's node is still at that version; if not, `otherwise` gives the node's name. */
  | { readonly ifAt: number; readonly otherwise: () => Promise<string | undefined> };

/** What a leader knows of its queue, and of what other clients have written on its node. */
export interface QueueKnowledge {
  /** Whether a candidate with a priority was in the queue when the term began; `undefined` if that isn't known. */
  readonly preferable: boolean | undefined;
  /** The leader's node, as it was last read. */
  readonly node: NodeContent | undefined;
}

/**
 * The version of the leader's node at which only the next in the queue can lead next; `undefined` if another candidate may
 * be preferred, and the queue has to be read before the term is given back.
 */
export function nextInLineIfAt({ preferable, node }: QueueKnowledge): number | undefined {
  return preferable === false && node !== undefined && !hasPriorityMark(node.data) ? node.version : undefined;
}
