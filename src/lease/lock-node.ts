import type { LeaseInstant } from '../platform/time/clock.js';
import type { Session } from '../session/session.js';
import { OwnNode } from './own-node.js';

/** A node without a heartbeat node, as of a lock: no other session waits for its lease. So a lease begins with any write that found the node. */
export class LockNode extends OwnNode {
  readonly raised = undefined;

  /** @param sentAt - when the write that created the node was sent, if known */
  static of(session: Session, path: string, sentAt?: LeaseInstant): LockNode {
    const node = new LockNode(session, path);
    if (sentAt !== undefined) node.extendLease(sentAt);
    return node;
  }

  protected prove(): Promise<unknown> {
    return this.commit([]);
  }

  protected found(sentAt: LeaseInstant): void {
    this.extendLease(sentAt);
  }
}
