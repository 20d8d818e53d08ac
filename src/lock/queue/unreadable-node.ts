import { UnreadableNodeError } from '../../errors.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';

/** What went wrong with a node that a contender has to know of; of a refusal for lack of READ what that means here. */
export function orUnreadable(error: unknown, path: string): unknown {
  return isNoAuth(error) ? new UnreadableNodeError(path, { cause: error }) : error;
}
