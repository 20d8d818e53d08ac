import { UnreadableNodeError } from '../errors.js';
import { isNoAuth } from '../session/protocol/error-codes.js';

/** The error to report when a node of the queue can't be read. If the session lacks the permission READ, it is an UnreadableNodeError. */
export function orUnreadable(error: unknown, path: string): unknown {
  return isNoAuth(error) ? new UnreadableNodeError(path, { cause: error }) : error;
}
