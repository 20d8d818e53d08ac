import type { ElectionFacts } from './election-model.js';
import type { GroupFacts } from './group-model.js';
import type { LockKind, ReadContender } from './lock-view.js';
import type { NodeKind } from './node-kind.js';

/** Is notified of everything that one session reads below a root. */
export interface TreeListener {
  /** The kind that the node had before, as this session or a former one has read it. */
  formerKindOf(path: string): NodeKind | undefined;
  election(path: string, facts: ElectionFacts): void;
  lock(path: string, kind: LockKind, queue: readonly ReadContender[]): void;
  group(path: string, facts: GroupFacts): void;
  /** A server refuses to show the node. */
  refused(path: string): void;
  /** The node is gone, or has another kind than before. This says nothing about the nodes below it, which may still be there. */
  removed(path: string): void;
  /** The sentences that say which places aren't read have changed. */
  limited(sentences: readonly string[]): void;
  /** Everything below the root was read. Called once. */
  readAll(): void;
  /** Something went wrong that says nothing about the nodes. */
  failed(error: unknown): void;
}
