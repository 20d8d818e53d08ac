// Imports more than 15 modules: 16; it ties a member's shards to the planning for all.
import { LeaderElector } from '../election/elector.js';
import type { Term } from '../election/term/term.js';
import { describe, NodeLostError } from '../errors.js';
import type { Contender } from '../lock/queue/contender.js';
import { type Abortable, onAbort } from '../platform/async/lazy-abort.js';
import { deferred } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import { NodeWatch } from '../session/node-watch.js';
import type { Session } from '../session/session.js';
import { MemberWatch } from './members/member-watch.js';
import { joinGroup, leaveGroup } from './members/membership.js';
import { GroupPaths } from './nodes/group-paths.js';
import type { MemberData } from './nodes/member-data.js';
import { parsePlan } from './nodes/plan-data.js';
import type { ShardList } from './nodes/shard-list.js';
import type { OwnedShard } from './ownership/shard.js';
import { ShardOwner, type ShardOwnerListener } from './ownership/shard-owner.js';
import { ShardRecords } from './ownership/shard-records.js';
import { Planner } from './planner.js';
import { prepareGroup } from './prepare-group.js';

/** How a member takes part in a group of shards. */
export interface GroupMemberOptions extends MemberData {
  readonly shards: ShardList;
  readonly takeover: 'lease' | 'session';
  /** How long the planner waits after members have come for more of them, in milliseconds. */
  readonly settleMs: number;
}

export interface GroupMemberListener extends ShardOwnerListener {
  /** This member is the planner, and has written a plan. */
  onPlanned(planned: ReadonlyMap<string, string>): void;
}

/**
 * One member of a group of shards, for as long as its node is there: owns what its plan says, and stands for election as the planner of all.
 * It belongs to one session and ends with it.
 */
export class GroupMember {
  readonly #session: Session;
  readonly #paths: GroupPaths;
  readonly #options: GroupMemberOptions;
  readonly #contender: Contender;
  readonly #listener: GroupMemberListener;
  readonly #owner: ShardOwner;
  readonly #elector: LeaderElector;
  readonly #plan: NodeWatch;
  /** While it is the planner or the next in line. */
  #watch: MemberWatch | undefined;
  #planner: Planner | undefined;
  #hasLeft: Promise<void> | undefined;
  readonly #onResumed = () => this.#owner.resumed();

  private constructor(
    session: Session,
    paths: GroupPaths,
    options: GroupMemberOptions,
    contender: Contender,
    listener: GroupMemberListener,
  ) {
    const { id, shards, takeover } = options;
    this.#session = session;
    this.#paths = paths;
    this.#options = options;
    this.#contender = contender;
    this.#listener = listener;
    this.#owner = new ShardOwner({ session, paths, member: contender, id }, shards, listener);
    this.#elector = new LeaderElector(session, paths.planner, {
      ...{ id, takeover, logger: session.logger },
      lead: (term) => this.#leadPlanning(term),
    });
    this.#elector
      .on('waiting', ({ position }) => this.#follow(position === 1))
      .on('error', (error) => listener.onError(error));
    this.#plan = new NodeWatch(session, paths.planOf(contender.entry.node), {
      read: ({ data }) => this.#planRead(data),
      gone: () => this.#planGone(),
      failed: (error) => {
        if (!session.ended.aborted) this.#planGone(error);
      },
    });
    session.on('resumed', this.#onResumed);
    onAbort(contender.node.lost, () => this.#plan.stop());
  }

  /**
   * Joins the group at that path, and makes it if it is missing. Resolves when it is a member: it owns shards as soon as it is planned for.
   * @throws ShardsMismatchError if the group has other shards; what ended the session; the signal's reason; or a server's refusal
   */
  static async join(
    session: Session,
    path: string,
    options: GroupMemberOptions,
    listener: GroupMemberListener,
    signal: Abortable,
  ): Promise<GroupMember> {
    const paths = new GroupPaths(path);
    await prepareGroup(session, paths, options.shards, signal);
    const contender = await joinGroup(session, paths, { data: options, takeover: options.takeover, signal });
    const member = new GroupMember(session, paths, options, contender, guarded(listener, session.logger));
    void member.#elector.start().catch((error: unknown) => {
      if (member.#hasLeft === undefined && !session.ended.aborted) listener.onError(error);
    });
    return member;
  }

  /** Aborts when its node is gone: it owns nothing any more, and has to join again. */
  get lost(): Abortable {
    return this.#contender.node.lost;
  }

  get owned(): OwnedShard[] {
    return this.#owner.owned;
  }

  /** Those that it is to own, and doesn't. */
  get lacking(): string[] {
    return this.#owner.lacking;
  }

  get isPlanner(): boolean {
    return this.#elector.isLeader;
  }

  /** Gives all shards back when their work has settled, and leaves the group. Never rejects. */
  leave(): Promise<void> {
    if (this.#hasLeft === undefined) {
      const left = deferred();
      this.#hasLeft = left.promise; // Work that ends because of it may call this, too.
      void this.#leave().then(left.resolve); // Never rejects.
    }
    return this.#hasLeft;
  }

  async #leave(): Promise<void> {
    this.#plan.stop();
    this.#follow(false);
    await Promise.all([this.#owner.stop(), this.#elector.stop()]);
    this.#session.off('resumed', this.#onResumed);
    await leaveGroup(this.#session, this.#paths, this.#contender, this.#owner.mayBeNamed);
  }

  #planRead(data: Buffer): void {
    const { shards } = this.#options;
    const planned = parsePlan(data, shards.count);
    if (planned === undefined)
      return this.#listener.onError(
        new Error(`the plan ${this.#paths.planOf(this.#contender.entry.node)} can't be read`),
      );
    this.#owner.follow(planned.map((number) => shards.ids[number] as string));
  }

  /** Without its plan it would never hear of another one. */
  #planGone(cause?: unknown): void {
    const { node, entry } = this.#contender;
    const why = cause === undefined ? 'was deleted by another client' : `can't be read: ${describe(cause)}`;
    if (this.#hasLeft === undefined)
      node.lose(new NodeLostError(`the plan ${this.#paths.planOf(entry.node)} ${why}`, { cause }));
  }

  /** Watches the others, or doesn't any more. */
  #follow(watches: boolean): void {
    if (!watches) {
      this.#watch?.stop();
      this.#watch = undefined;
      return;
    }
    if (this.#hasLeft !== undefined) return;
    this.#watch ??= new MemberWatch(this.#session, this.#paths, this.#contender.entry.node, {
      onChange: () => this.#planner?.changed(),
      onError: (error) => this.#listener.onError(error),
    });
  }

  async #leadPlanning(term: Term): Promise<void> {
    this.#follow(true);
    const { settleMs, shards: list, id } = this.#options;
    const { onPlanned, onError } = this.#listener;
    if (this.#watch === undefined) return;
    const place = { session: this.#session, paths: this.#paths, list, watch: this.#watch, settleMs };
    const records = new ShardRecords(this.#session, this.#paths, this.#contender, id);
    const planner = new Planner(
      {
        ...place,
        records,
        onPlanned: (planned) => onPlanned.call(this.#listener, planned),
        onError: (error) => onError.call(this.#listener, error),
      },
      term,
    );
    this.#planner = planner;
    planner.changed();
    await new Promise<void>((resolve) => onAbort(term.signal, resolve));
    await planner.ended();
    if (this.#planner === planner) this.#planner = undefined;
  }
}

/** A listener that throws must keep no shard from being given back. */
function guarded(listener: GroupMemberListener, logger: Logger): GroupMemberListener {
  const call =
    <Args extends unknown[]>(method: (...args: Args) => void) =>
    (...args: Args) => {
      try {
        method.apply(listener, args);
      } catch (error) {
        logger.error({ cause: describe(error) }, 'what is told of a member of a group of shards failed');
      }
    };
  return {
    onAcquired: call(listener.onAcquired),
    onEnded: call(listener.onEnded),
    onWorkFailed: call(listener.onWorkFailed),
    onOverrun: call(listener.onOverrun),
    onError: call(listener.onError),
    onPlanned: call(listener.onPlanned),
  };
}
