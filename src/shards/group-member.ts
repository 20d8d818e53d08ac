import { registerMember } from '../cluster/dead-children/register-with-guardian.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { deferred, ignore, settledWithin } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import type { Contender } from '../queue/contender.js';
import type { Session } from '../session/session.js';
import { FollowedPlan } from './members/followed-plan.js';
import { type HomeNode, joinGroup, leaveGroup } from './members/join-and-leave.js';
import { MemberReportWriter } from './members/member-report-writer.js';
import type { OwnedShard } from './ownership/owned-shard.js';
import { ShardOwner, type ShardOwnerListener } from './ownership/shard-owner.js';
import { PlanningCandidate } from './planner/planning-candidate.js';
import { prepareGroup } from './read-and-resize-group.js';
import { type MemberData, type MemberReport, serializeHome } from './stored/data-formats.js';
import { GroupPaths, uuidOf } from './stored/group-paths.js';
import type { GroupShards, ShardList } from './stored/shard-list.js';

/** How a member takes part in a group of shards. */
export interface GroupMemberOptions extends MemberData {
  /**
   * Which shards the group has. A group that had these before, and has others by now, is followed all the same.
   * @default those that the group has: it has to be there
   */
  readonly shards?: ShardList | undefined;
  /**
   * Whether it comes back with this id, so that the shards that it owned when it left in good order are to be its again.
   * @default false
   */
  readonly keepsHome?: boolean | undefined;
  /**
   * How long its shards wait for it, without an owner, when it has left in good order, in milliseconds; `keepsHome` has to be set. 0:
   * others own them meanwhile. A planner counts from when it has seen that, and another one begins anew.
   * @default 0
   */
  readonly graceMs?: number | undefined;
  /**
   * Whether to register with a guardian in the parent process, if there is one: then others get its shards at once when this process has
   * ended.
   */
  readonly guardian?: boolean;
}

export interface GroupMemberListener extends ShardOwnerListener {
  /** This member is the planner, and has written a plan. */
  onPlanned(planned: ReadonlyMap<string, string>): void;
}

/**
 * One member of a group of shards, for as long as its node is there: owns what its plan says, and stands for election as the planner of
 * all. It belongs to one session and ends with it.
 */
export class GroupMember {
  readonly #paths: GroupPaths;
  readonly #contender: Contender;
  readonly #options: GroupMemberOptions;
  readonly #owner: ShardOwner;
  readonly #planning: PlanningCandidate;
  readonly #plan: FollowedPlan;
  readonly #reports: MemberReportWriter;
  readonly #unregister: () => void;
  /** While it drains, the ids of the shards that it owned before. */
  #ownedBefore: readonly string[] | undefined;
  #hasLeft: Promise<void> | undefined;
  readonly #onResumed = () => {
    this.#owner.resumed();
    this.#planning.readAll();
  };

  /** @param shards - which the group had when it joined */
  private constructor(
    paths: GroupPaths,
    member: Contender,
    shards: GroupShards,
    options: GroupMemberOptions,
    listener: GroupMemberListener,
  ) {
    this.#paths = paths;
    this.#contender = member;
    this.#options = options;
    const { session } = member;
    const { id, guardian } = options;
    const { onPlanned, onError } = listener;
    this.#plan = new FollowedPlan(paths, member, shards, {
      onShards: (changed) => {
        this.#reports.relist(changed);
        this.#planning.readAll();
        this.#owner.relisted();
      },
      onPlan: (planned) => this.#owner.follow(planned),
      onError,
    });
    const list = { numberOf: (shard: string) => this.list.numberOf(shard) };
    this.#owner = new ShardOwner({ session, paths, member, id }, list, listener);
    this.#reports = new MemberReportWriter(paths, member, shards, onError);
    this.#planning = new PlanningCandidate({
      ...{ session, paths, member, id, guardian, onPlanned, onError },
      shards: () => this.#plan.shards,
    });
    this.#unregister = guardian === true ? registerMember(session, paths.group, member.node.path) : ignore;
    session.on('resumed', this.#onResumed);
  }

  /**
   * Joins the group at that path, and makes it if it is missing. Resolves when it is a member: it owns shards as soon as it is planned for.
   * @throws ShardsMismatchError if the group has other shards, and had these at no time; InvalidStateError if no shards are given, and
   *   there is no group; what ended the session; the signal's reason; or a server's refusal
   */
  static async join(
    session: Session,
    path: string,
    options: GroupMemberOptions,
    listener: GroupMemberListener,
    signal: Abortable,
  ): Promise<GroupMember> {
    const paths = new GroupPaths(path);
    const shards = await prepareGroup(session, paths, options.shards, signal);
    const contender = await joinGroup(session, paths, { data: options, signal });
    const member = new GroupMember(paths, contender, shards, options, guarded(listener, session.logger));
    member.#planning.start();
    return member;
  }

  /** Aborts when its node is gone: it owns nothing any more, and has to join again. */
  get lost(): Abortable {
    return this.#contender.node.lost;
  }

  /** Which shards the group has, as far as is known: they may become others while it is a member. */
  get list(): ShardList {
    return this.#plan.shards.list;
  }

  get owned(): OwnedShard[] {
    return this.#owner.owned;
  }

  /** Those that it is to own, and doesn't. */
  get lacking(): string[] {
    return this.#owner.lacking;
  }

  get isPlanner(): boolean {
    return this.#planning.isPlanner;
  }

  /**
   * Says something to the planner from now on; what isn't given stays as it was. It is written soon, together with what is reported
   * meanwhile, and repeated until a server has answered; refusals are told to `onError`. Shards that the group hasn't are left out. Does
   * nothing once it leaves.
   */
  report(change: Partial<MemberReport>): void {
    if (this.#hasLeft !== undefined) return;
    if (change.draining) this.#ownedBefore ??= this.#ownedIds;
    this.#reports.write(change);
  }

  /**
   * Owns none of these for now, whatever its plan says, and tells the planner.
   * @param shards - their ids; those of the call before may be owned again
   */
  refuse(shards: readonly string[]): void {
    this.#owner.refuse(shards);
    this.report({ refused: shards });
  }

  /**
   * Gives all shards back when their work has settled, and leaves the group. If it keeps its home, the shards that it owns at this moment,
   * or owned before it began to drain, are to be its again when a member with its id joins. Resolves when it has left, or a lease after its
   * work has settled if no server answers by then; otherwise a session timeout later at most. What is left goes on until the
   * session ends. Never rejects.
   */
  leave(): Promise<void> {
    if (this.#hasLeft === undefined) {
      const left = deferred();
      this.#hasLeft = left.promise; // Work that ends because of it may call this, too.
      void this.#leave().then(left.resolve); // Never rejects.
    }
    return this.#hasLeft;
  }

  get #ownedIds(): string[] {
    return this.owned.map(({ id }) => id);
  }

  /** What it leaves behind, by what it owns now. A member that owned nothing leaves a home of an earlier time as it is. */
  get #home(): HomeNode | undefined {
    const { id, weight, keepsHome, graceMs = 0 } = this.#options;
    const shards = this.#ownedBefore ?? this.#ownedIds;
    if (!keepsHome || shards.length === 0) return undefined;
    const home = { id, member: uuidOf(this.#contender.entry.node), weight, graceMs, shards };
    return { path: this.#paths.homeOf(id), data: serializeHome(home, this.#plan.shards) };
  }

  async #leave(): Promise<void> {
    this.#plan.stop();
    const given = this.#giveBack(this.#home);
    await this.#owner.settled();
    const { clock, leaseMs, sessionTimeoutMs } = this.#contender.session;
    await settledWithin(clock, given, leaseMs);
    // Its heartbeats are answered: thousands of shards take their time, and so does what a server refuses.
    if (this.#contender.node.remainingMs() > 0) await settledWithin(clock, given, sessionTimeoutMs);
    this.#owner.giveUp();
  }

  /** Takes as long as no server can be reached. Never rejects. */
  async #giveBack(home: HomeNode | undefined): Promise<void> {
    await Promise.all([this.#owner.stop(), this.#planning.stop(), this.#reports.stop()]);
    const { session } = this.#contender;
    session.off('resumed', this.#onResumed);
    await leaveGroup(session, this.#paths, this.#contender, this.#owner.mayBeNamed, home);
    this.#unregister();
    await this.#reports.remove(); // After its node: else a planner may give it again what it has refused.
  }
}

/** A listener that throws must keep no shard from being given back. */
export function guarded(listener: GroupMemberListener, logger: Logger): GroupMemberListener {
  const call =
    <Args extends unknown[]>(method: (...args: Args) => void) =>
    (...args: Args) => {
      try {
        method.apply(listener, args);
      } catch (error) {
        logger.error({ err: error }, 'an internal listener of a group of shards failed');
      }
    };
  return {
    onAcquired: call(listener.onAcquired),
    onEnded: call(listener.onEnded),
    onWorkFailed: call(listener.onWorkFailed),
    onOverrun: call(listener.onOverrun),
    onAwaited: call(listener.onAwaited ?? ignore),
    onError: call(listener.onError),
    onPlanned: call(listener.onPlanned),
  };
}
