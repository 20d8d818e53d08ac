import { describe, NodeLostError } from '../../errors.js';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import type { Contender } from '../../queue/contender.js';
import { NodeWatch } from '../../session/node-watch.js';
import type { NodeData } from '../../session/protocol/multi-and-stats.js';
import { parsePlan } from '../stored/data-formats.js';
import type { GroupPaths } from '../stored/group-paths.js';
import { type GroupShards, ShardList } from '../stored/shard-list.js';

/** Listens to a {@link FollowedPlan}. */
export interface PlanListener {
  /** The group has other shards from now on. Of those that the member was to own, the ones that are left follow in `onPlan`. */
  onShards(shards: GroupShards): void;
  /** The ids of the shards that the member is to own from now on. */
  onPlan(shards: readonly string[]): void;
  /** The plan is no plan, or the list is no list: what the former one says holds. */
  onError(error: unknown): void;
}

/**
 * Follows a member's plan, and which shards the group has, until the member's node is gone. A plan is for one version of the group's list:
 * it counts as long as that is the one that is known. Without one of the two nodes a member would never hear of another plan: it is lost
 * then.
 */
export class FollowedPlan {
  readonly #paths: GroupPaths;
  readonly #member: Contender;
  readonly #listener: PlanListener;
  readonly #watches: readonly NodeWatch[];
  #shards: GroupShards;
  /** As it was read last: it may be for a list that isn't known yet. */
  #data: Buffer | undefined;
  #planned: readonly string[] = [];

  /** @param shards - as they were read when the member joined */
  constructor(paths: GroupPaths, member: Contender, shards: GroupShards, listener: PlanListener) {
    this.#paths = paths;
    this.#member = member;
    this.#shards = shards;
    this.#listener = listener;
    const { session } = member;
    const watch = (path: string, read: (node: NodeData) => void) =>
      new NodeWatch(session, path, {
        read,
        gone: () => this.#lose(`${path} was deleted by another client`),
        failed: (cause) => {
          if (!session.ended.aborted) this.#lose(`${path} can't be read: ${describe(cause)}`, cause);
        },
      });
    this.#watches = [
      watch(paths.group, (node) => this.#listRead(node)),
      watch(this.#planPath, ({ data }) => this.#planRead(data)),
    ];
    onAbort(member.node.lost, () => this.stop());
  }

  /** The group's shards, as far as they are known. */
  get shards(): GroupShards {
    return this.#shards;
  }

  stop(): void {
    for (const watch of this.#watches) watch.stop();
  }

  get #planPath(): string {
    return this.#paths.planOf(this.#member.entry.node);
  }

  #listRead({ data, stat: { version } }: NodeData): void {
    if (version === this.#shards.version) return;
    const list = ShardList.parse(data);
    if (list === undefined)
      return this.#listener.onError(
        new Error(
          `${this.#paths.group} does not say which shards the group has: the member goes on with the shards that it named before`,
        ),
      );
    this.#shards = { list, version };
    this.#listener.onShards(this.#shards);
    const left = this.#planned.filter((shard) => list.numberOf(shard) !== undefined);
    if (left.length < this.#planned.length) this.#follow(left);
    if (this.#data !== undefined) this.#planRead(this.#data);
  }

  #planRead(data: Buffer): void {
    this.#data = data;
    const plan = parsePlan(data, this.#shards);
    if (plan === undefined)
      return this.#listener.onError(new Error(`the plan ${this.#planPath} can't be read`));
    const { version = this.#shards.version, shards } = plan;
    // Else the list that it is for is about to come, or the plan for the list that is known.
    if (version === this.#shards.version && shards !== 'unknown') this.#follow(shards);
  }

  #follow(planned: readonly string[]): void {
    this.#planned = planned;
    this.#listener.onPlan(planned);
  }

  #lose(why: string, cause?: unknown): void {
    this.#member.node.lose(new NodeLostError(`the member is lost: ${why}`, { cause }));
  }
}
