import { UnreadableNodeError } from '../../errors.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';

/** The error for a node of the queue that couldn't be read: if the session lacks READ, one that says what that means here. */
export function orUnreadable(error: unknown, path: string): unknown {
  return isNoAuth(error) ? new UnreadableNodeError(path, { cause: error }) : error;
}
