import type { ElectionFacts } from './election-model.js';
import type { GroupFacts } from './group-model.js';
import type { LockKind, ReadContender } from './lock-view.js';
import type { NodeKind } from './node-kind.js';

/** What is told of what is read below a root with one session. */
export interface TreeListener {
  /** What the node was found to be before, by this session or a former one. */
  formerKindOf(path: string): NodeKind | undefined;
  election(path: string, facts: ElectionFacts): void;
  lock(path: string, kind: LockKind, queue: readonly ReadContender[]): void;
  group(path: string, facts: GroupFacts): void;
  /** A server refuses to show what is there. */
  refused(path: string): void;
  /** The node is not there, or is another thing than it was. What is below it isn't meant, if that is there still. */
  removed(path: string): void;
  /** The sentences that say what isn't looked at have changed. */
  limited(sentences: readonly string[]): void;
  /** All that is there was read. Called once. */
  readAll(): void;
  /** Something went wrong that says nothing about what is there. */
  failed(error: unknown): void;
}
