import { registerWithGuardian } from '../../cluster/dead-children/register-with-guardian.js';
import type { EmitEvent } from '../../cluster/supervisor/election-supervisor-events.js';
import type { Participation } from '../../cluster/supervisor/supervisor-state.js';
import type { LostTermBackoff } from '../../election/lost-term-backoff.js';
import {
  InvalidStateError,
  SessionExpiredError,
  type ShardEndReason,
  ShardFailedError,
  WorkOverrunError,
} from '../../errors.js';
import { isRefusal } from '../../lease/own-node.js';
import { LazyAbortController, onAbort } from '../../platform/async/lazy-abort-controller.js';
import {
  abortable,
  type Deferred,
  deferred,
  ignore,
  microtask,
  settledWithin,
} from '../../platform/async/promises.js';
import { nextTick } from '../../platform/time/timers.js';
import type { Session } from '../../session/session.js';
import { GroupMember, type GroupMemberListener } from '../group-member.js';
import type { OwnedShard, Shard } from '../ownership/owned-shard.js';
import { PREPARED_WAIT_MS } from '../planner/handover-waits.js';
import type { FailedShardBackoff } from './failed-shard-backoff.js';
import { Preparations } from './preparations.js';
import { isLostShard, type LostShards, type ShardSupervisorEvents } from './shard-supervisor-events.js';
import type { ResolvedShardOptions } from './shard-supervisor-options.js';
import { workOn } from './shard-work.js';

export interface MembershipPort {
  readonly emit: EmitEvent<ShardSupervisorEvents>;
  readonly report: (thrown: unknown) => void;
}

/** One session with its member of the group: calls the application's hooks, and says what was lost when the two have ended. */
export class SupervisedMember implements Participation<LostShards> {
  readonly session: Session;
  readonly #options: ResolvedShardOptions;
  readonly #refusals: FailedShardBackoff;
  readonly #port: MembershipPort;
  readonly #preparations: Preparations | undefined;
  readonly #withdrawn = new LazyAbortController<Error>();
  #joining: Promise<void> | undefined;
  #member: GroupMember | undefined;
  #joinedAt = 0;
  /** Owned, or not given back yet; with the instant at which they ended, by the clock. */
  readonly #shards = new Map<OwnedShard, number | undefined>();
  /** What the member has lost, and neither given back since nor owned again. */
  readonly #lost = new Map<string, Shard>();
  #drained: Deferred<void> | undefined;
  /** Whether it has ended by itself, before the supervisor was stopped. */
  #hasEndedByItself = false;

  constructor(
    session: Session,
    options: ResolvedShardOptions,
    refusals: FailedShardBackoff,
    port: MembershipPort,
  ) {
    this.session = session;
    this.#options = options;
    this.#refusals = refusals;
    this.#port = port;
    const { prepare } = options;
    if (prepare !== undefined)
      this.#preparations = new Preparations(prepare, session.clock, {
        onReady: (shards) => this.#member?.report({ ready: shards }),
        onFailed: (id, cause) => {
          port.report(new ShardFailedError(id, cause));
          refusals.refuse(id);
        },
        // The member isn't said to refuse the shard: its owner has waited for as long, and the shard may be on its way.
        onHanging: (id) =>
          port.report(
            new ShardFailedError(id, new Error(`prepare has not settled within ${PREPARED_WAIT_MS} ms`)),
          ),
      });
    if (options.guardian) registerWithGuardian(session);
    onAbort(session.ended, () => {
      if (session.ended.reason instanceof SessionExpiredError) nextTick(() => port.emit('expired')); // Behind what is told of the shards.
    });
  }

  async start(): Promise<void> {
    const { path, data, prepare, logger, ...rest } = this.#options;
    const options = {
      ...rest,
      ...(data !== undefined && { data }),
      ...(prepare !== undefined && { prepares: true as const }),
    };
    const joining = GroupMember.join(this.session, path, options, this.#listener, this.#withdrawn);
    this.#joining = joining.then((member) => {
      this.#member = member;
      if (this.#withdrawn.aborted) void member.leave(); // Never rejects.
    });
    await abortable(this.#joining, this.#withdrawn);
    this.#joinedAt = this.session.clock.now();
    logger.info({}, 'joined the group');
    this.refusalsChanged();
    this.#withdrawn.throwIfAborted();
  }

  /** Until the session has ended, its node is lost, or `stop`. */
  async untilEnded(stop: AbortSignal): Promise<void> {
    const never = deferred().promise;
    await abortable(never, this.session.ended, stop, this.#member?.lost).catch(ignore); // One of them has aborted.
    this.#hasEndedByItself = !stop.aborted;
  }

  async withdraw(): Promise<void> {
    this.#withdrawn.abort(new InvalidStateError('stopped before it was a member'));
    // If it was about to become a member, it deletes its node, or leaves, as long as a server can be reached.
    const { clock, leaseMs } = this.session;
    if (this.#joining !== undefined) await settledWithin(clock, this.#joining, leaseMs);
    this.#preparations?.stop();
    await this.#member?.leave();
    this.#drained?.resolve();
  }

  get loss(): LostShards | undefined {
    const { session } = this;
    const shards = [...this.#lost.values()];
    if (session.ended.reason instanceof SessionExpiredError) return { shards, reason: 'session-expired' };
    if (this.#member?.lost.aborted && !session.ended.aborted)
      return { shards, reason: isRefusal(this.#member.lost.reason) ? 'refused' : 'node-deleted' };
    if (session.ended.aborted || this.#hasEndedByItself) return { shards, reason: 'stopped' };
    const isUnsure = session.state.name === 'suspended' && shards.length > 0;
    return isUnsure ? { shards, reason: 'lease-expired' } : undefined;
  }

  /** Notes that it has ended: a member that is lost again and again comes back later and later. */
  noteEnd(backoff: LostTermBackoff): void {
    if (this.#member === undefined) return;
    const { clock, leaseMs } = this.session;
    const reason = this.loss?.reason ?? 'stopped';
    backoff.termEnded({ reason, lastedMs: clock.now() - this.#joinedAt, leaseMs, hasConnection: false });
  }

  /** Other shards than before are refused. */
  refusalsChanged(): void {
    this.#member?.refuse(this.#refusals.shards);
  }

  /**
   * Gives everything back, as others are ready for it. Resolves when it owns nothing and is to own nothing, or it has ended. Never rejects.
   */
  async drain(): Promise<void> {
    if (this.#member === undefined) return;
    this.#drained ??= deferred();
    this.#member.report({ draining: true });
    this.#checkDrained();
    await abortable(this.#drained.promise, this.session.ended, this.#member.lost).catch(ignore); // It has ended.
  }

  #checkDrained(): void {
    if (this.#shards.size === 0 && this.lacking.length === 0) this.#drained?.resolve();
  }

  get isMember(): boolean {
    return this.#member !== undefined && !this.#member.lost.aborted && !this.#withdrawn.aborted;
  }

  /** How many shards the group has, once it has joined. */
  get shardCount(): number | undefined {
    return this.#member?.list.count;
  }

  get isPlanner(): boolean {
    return this.isMember && this.#member?.isPlanner === true;
  }

  get owned(): OwnedShard[] {
    return [...this.#shards.keys()].filter(({ endedFor }) => endedFor === undefined);
  }

  /** Those that have ended, and whose work still has to settle, or that still have to be given back; with the instant at which they ended. */
  get ending(): { readonly shard: OwnedShard; readonly sinceMs: number }[] {
    return [...this.#shards].flatMap(([shard, sinceMs]) =>
      sinceMs === undefined ? [] : [{ shard, sinceMs }],
    );
  }

  /** The ids of those that it is to own, and doesn't. */
  get lacking(): readonly string[] {
    return this.#member?.lacking ?? [];
  }

  /** Whether the caller is a shard's work: it mustn't wait for its own end. */
  get isWithinWork(): boolean {
    return [...this.#shards.keys()].some(({ isAround }) => isAround);
  }

  readonly #listener: GroupMemberListener = {
    onAcquired: (shard) => this.#acquired(shard),
    onEnded: (shard) => this.#ended(shard),
    onWorkFailed: (shard, cause) => this.#port.report(new ShardFailedError(shard.id, cause)),
    onOverrun: (shard) =>
      this.#port.report(new WorkOverrunError(shard.number, { over: 'lease', shard: shard.id })),
    onAwaited: (shards) => {
      this.#preparations?.follow(shards);
      this.#checkDrained();
    },
    onPlanned: (plan) => {
      this.#options.logger.info({ shards: plan.size }, 'planned');
      this.#port.emit('planned', plan);
    },
    onError: (error) => this.#port.report(error),
  };

  #acquired(shard: OwnedShard): void {
    this.#shards.set(shard, undefined);
    this.#lost.delete(shard.id);
    shard.whenEnded(() => this.#ending(shard));
    this.#options.logger.info(describeShard(shard), 'acquired');
    this.#port.emit('acquired', shard);
    const { run } = this.#options;
    if (run === undefined || !shard.isHeld()) return; // A listener may have taken longer than the lease lasts.
    const { report } = this.#port;
    shard.work(() => workOn(shard, { ...this.#options, run, report, refusals: this.#refusals }));
  }

  #ending(shard: OwnedShard): void {
    this.#shards.set(shard, this.session.clock.now());
    const reason = shard.endedFor as ShardEndReason;
    if (!isLostShard(reason)) return;
    this.#lost.set(shard.id, shard);
    // Behind the listeners of its signal.
    microtask(() => {
      this.#options.logger.info({ ...describeShard(shard), reason }, 'lost');
      this.#port.emit('lost', shard, reason);
    });
  }

  #ended(shard: OwnedShard): void {
    const { clock } = this.session;
    const settledMs = Math.round(clock.now() - (this.#shards.get(shard) ?? clock.now()));
    this.#shards.delete(shard);
    const reason = shard.endedFor as ShardEndReason;
    if (!isLostShard(reason)) {
      this.#options.logger.info({ ...describeShard(shard), reason, settledMs }, 'released');
      this.#port.emit('released', shard, reason);
    }
    // Its lease had ended, and no other member has owned it before it was given back.
    else if (this.isMember && !this.session.ended.aborted && this.#lost.get(shard.id) === shard)
      this.#lost.delete(shard.id);
    this.#checkDrained();
  }
}

/** For a log. */
function describeShard({ id, number, token }: Shard): object {
  return { shard: id, term: number, token: String(token) };
}
