import type { NodeContent } from '../../lease/ephemeral-node.js';
import { hasPriorityMark } from '../nodes/candidate-request.js';

/** Who leads next, as far as a leader knows when it gives its term back. Without more, the next in line. */
export type NextInLine =
  /** The one whose node has that name: it was called. */
  | { readonly successor?: string | undefined }
  /** The next in line, if the leader's node is still at that version; if not, whose node's name `otherwise` gives. */
  | { readonly ifAt: number; readonly otherwise: () => Promise<string | undefined> };

/** What a leader knows of its queue, and of what others have written on its node. */
export interface QueueKnowledge {
  /** Whether anybody with a priority stood in the queue at some time in the term; `undefined` if that isn't known. */
  readonly preferable: boolean | undefined;
  /** The leader's node, as it was last read. */
  readonly own: NodeContent | undefined;
}

/**
 * The version of the leader's node at which nobody but the next in line can be meant to lead next; `undefined` if
 * somebody may be, and the queue has to be looked at before the term is given back.
 */
export function nextInLineIfAt({ preferable, own }: QueueKnowledge): number | undefined {
  return preferable === false && own !== undefined && !hasPriorityMark(own.data) ? own.version : undefined;
}
