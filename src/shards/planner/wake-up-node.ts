import { DATA, FollowedNode } from '../../session/observers/followed-node.js';
import type { Session } from '../../session/session.js';

/** Listens to a node that is written when the planner has something to read. */
export interface WakeUpListener {
  /** The node has changed since it was read first, or may have. */
  onChange(): void;
  /** The node can't be watched now. It is tried again. */
  onError(error: unknown): void;
}

/** Follows a persistent node of the group that is written when the planner has something to read. */
export function followWakeUps(session: Session, path: string, { onChange, onError }: WakeUpListener) {
  let isNews = false; // The first read shows no change, unless the node may have been written while it wasn't watched.
  let hasFailed = false;
  const read = () => {
    hasFailed = false;
    if (isNews) onChange();
    isNews = true;
  };
  const missing = () => {
    isNews = true;
    onChange();
  };
  const failed = (error: unknown) => {
    if (session.ended.aborted) return;
    isNews = true;
    if (!hasFailed) onError(error);
    hasFailed = true;
  };
  return new FollowedNode(session, path, DATA, { read, missing, failed }, { whenMissing: 'make' });
}
