import { type HealthTimes, outsideHealth } from '../../cluster/supervisor/health.js';
import {
  resolveShutdown,
  SHUTDOWN_CHECKS,
  type ShutdownLimits,
  type ShutdownTime,
} from '../../cluster/supervisor/signal-shutdown.js';
import { SupervisionLoop } from '../../cluster/supervisor/supervision-loop.js';
import type { SupervisorState } from '../../cluster/supervisor/supervisor-state.js';
import { ShardsMismatchError, type StopWait } from '../../errors.js';
import { type StartOptions, start } from '../../platform/async/start-with-signal.js';
import type { StopOptions } from '../../platform/async/stop-with-timeout.js';
import { type ChecksOf, checkBoolean } from '../../platform/checks.js';
import type { Environment } from '../../platform/injected-environment.js';
import { warnOfSetup } from '../../platform/logging/logger.js';
import { type Reporting, ReportingEmitter } from '../../platform/logging/reporting-emitter.js';
import { mark } from '../../public-class/instance-brand.js';
import { showAs } from '../../public-class/shown-in-console.js';
import type { Session } from '../../session/session.js';
import type { SessionSource } from '../../session/session-source.js';
import type { Shard } from '../ownership/owned-shard.js';
import { FailedShardBackoff } from './failed-shard-backoff.js';
import {
  type LostShards,
  SHARD_SUPERVISOR_EVENTS,
  type ShardSupervisorEvents,
} from './shard-supervisor-events.js';
import {
  type ResolvedShardOptions,
  resolveShardOptions,
  type ShardSupervisorOptions,
} from './shard-supervisor-options.js';
import { type MembershipPort, SupervisedMember } from './supervised-member.js';

/** The condition of a `ShardSupervisor`, for a health check. */
export interface ShardHealth {
  /**
   * Whether it is a member, or on its way to being one again: it looks for a server, for any length of time, cleans up, or cools down. A
   * supervisor isn't live if it has stopped, was never started, or can't join again because work of a lost membership still runs.
   */
  readonly live: boolean;
  /** Whether it is a member, and has a server. */
  readonly ready: boolean;
  /** How many shards it owns at this very moment. */
  readonly owned: number;
  /** Whether it is the group's planner. */
  readonly planner: boolean;
  /**
   * The ids of shards whose work goes on although it was told to end a lease ago, or although the lease is over: other members wait for
   * these shards, or may act beside this work. Only these shards are held up, unless `live` is false.
   */
  readonly stuck: readonly string[];
  /** The ids of shards that it should own and doesn't own yet: other members haven't given them back, or it is about to take them. */
  readonly lacking: readonly string[];
  /** Why, in a few words each; empty when all is well. */
  readonly reasons: readonly string[];
}

/** What a shutdown passes to its clean-up hook. */
export interface ShardShutdown extends ShutdownTime {
  /** The shards that the process owned when the signal came. They have been given back. */
  readonly shards: readonly Shard[];
}

/** How `ShardSupervisor.shutdownOn` ends the process. */
export interface ShardShutdownOptions extends ShutdownLimits {
  /**
   * The application's clean-up. Called once, when all work has settled and all shards were given back, before
   * the session is closed. If it fails, the shutdown reports that and goes on.
   */
  readonly cleanup?: (shutdown: ShardShutdown) => unknown;
  /** Whether to call {@link ShardSupervisor.drain} first, so that other members get ready for the shards. @default false */
  readonly drain?: boolean;
}

const CHECKS = {
  ...SHUTDOWN_CHECKS,
  drain: (name, value) => checkBoolean(name, value, false),
} satisfies ChecksOf<ShardShutdownOptions>;

/**
 * Owns shards as a member of a group, over the end of any session: N pieces of work over M processes, each owned by at most one of
 * them at a time, with its own terms. The group's planner, one of the members, says which of them is to own which shard. When members
 * come and go, as few shards as possible move. When the session or the membership is lost, the supervisor waits for all work to
 * settle, and calls the application's clean-up hook. It joins again only when that has succeeded.
 *
 * Guaranteed: two processes never act for the same shard at the same time, if they ask `shard.isHeld()` before each act and their clocks'
 * rates differ by 1 % at most. Changes elsewhere don't affect a shard that stays where it is. A shard whose work doesn't end doesn't
 * hold up any other. Not guaranteed: that each shard has an owner at every moment. It has none while it moves, and until a member
 * that died is replaced.
 *
 * @example
 * ```ts
 * const supervisor = new ShardSupervisor({
 *   connect: 'zk1:2181,zk2:2181,zk3:2181',
 *   path: '/shards/orders',
 *   shards: 64,
 *   run: (shard) => consume(`orders-${shard.id}`, shard),
 * });
 * supervisor.on('error', (error) => console.error(error));
 * await supervisor.start();
 * ```
 */
export class ShardSupervisor extends ReportingEmitter<ShardSupervisorEvents> implements SessionSource {
  /** The member's name. */
  readonly id: string;
  readonly #options: ResolvedShardOptions;
  readonly #loop: SupervisionLoop<LostShards, SupervisedMember>;
  readonly #refusals: FailedShardBackoff;

  /** @throws InvalidOptionError if an option is wrong */
  constructor(options: ShardSupervisorOptions) {
    super();
    this.#options = resolveShardOptions(options);
    const { environment } = this.#options;
    this.id = this.#options.id;
    this.#refusals = new FailedShardBackoff(environment, () => this.#loop.participation?.refusalsChanged());
    const report = (thrown: unknown) => this.report(thrown);
    const port: MembershipPort = { emit: (event, ...args) => this.emit(event, ...args), report };
    this.#loop = new SupervisionLoop<LostShards, SupervisedMember>(this.#options, {
      report,
      participate: (session) => {
        const membership = new SupervisedMember(session, this.#options, this.#refusals, port);
        this.note('membership', membership);
        return membership;
      },
      isFinal: (error) => error instanceof ShardsMismatchError,
      onSettled: (membership) => membership.noteEnd(this.#loop.backoff),
      onCleaned: () => this.emit('cleaned'),
      onHookCalled: (attempt) => this.note('hook', attempt),
      onRestarting: (restart) => this.emit('restarting', restart),
      holdUpOf: holdUpOfMembership,
      onStopped: () => {
        this.#refusals.stop();
        this.emit('stopped');
      },
    });
  }

  /** The group's path. */
  get path(): string {
    return this.#options.path;
  }

  /** @internal */
  get environment(): Environment {
    return this.#options.environment;
  }

  /** The shards that this process owns, by their ids. A copy: ask `shard.isHeld()` before acting. */
  get owned(): ReadonlyMap<string, Shard> {
    return new Map(this.#loop.participation?.owned.map((shard) => [shard.id, shard]));
  }

  /** For a health check: the supervisor's condition at this very moment. */
  health(): ShardHealth {
    const now = this.#options.environment.clock.now();
    return shardHealthOf(this.#loop.state, { now, coolUntil: this.#loop.backoff.notBeforeMs });
  }

  /**
   * The session that is open, or else the next one as soon as there is one: for a `ShardObserver`, for
   * example. It remains the supervisor's: don't close it.
   *
   * @throws InvalidStateError if the supervisor has stopped, or stops before it has a session; or the signal's reason
   */
  session(signal?: AbortSignal): Promise<Session> {
    return this.#loop.sessions.current(signal);
  }

  /**
   * Resolves once the process is a member of the group, however long it takes until a server appears; it owns shards as soon as the plan
   * gives it some. A second call returns the promise of the first. Handle its rejection, as with any promise. After `stop()` you needn't.
   *
   * @throws InvalidOptionError if an option is wrong, or the reason of `options.signal` if that aborts before
   * @throws InvalidStateError if it was stopped, before or meanwhile
   * @throws AuthenticationError if the servers refuse the credentials: the supervisor stops then
   * @throws ShardsMismatchError if the group has other shards: the supervisor stops then
   * @throws the last error if `retry.retries` is finite and no attempt succeeded
   */
  start(options?: StartOptions): Promise<void> {
    const { logger, run } = this.#options;
    if (run === undefined && this.listenerCount('acquired') === 0)
      warnOfSetup(
        logger,
        {},
        'this member has neither `run` nor a listener of `acquired`: nothing works on its shards',
      );
    return start(options, { begin: () => this.#loop.start(), stop: () => this.stop() });
  }

  /**
   * Leaves for good, at once: the signals of all shards abort, each is given back when its work has settled, and the session is closed. If
   * the membership was lost before, the hook is called when the work has settled. Resolves when all that is done. With no server in reach
   * that takes one lease and 2 s at most, and what the work and the hook take; with servers that are slow or refuse, a session timeout more.
   * Other members get what wasn't given back by then when the lease is over. Called from inside a shard's
   * work, it resolves as soon as the signals have aborted; from inside the hook, at once.
   *
   * @throws StopPendingError if the stop isn't done within `options.timeoutMs`; says what still runs. The stop goes on
   * @throws InvalidOptionError if an option is wrong: then nothing is stopped
   */
  async stop(options?: StopOptions): Promise<void> {
    await this.#loop.end(() => this.#leave(), options);
  }

  /**
   * Leaves for good, as deploys should: the planner gives this member's shards to others, which get ready for them first (`prepare`). Each
   * is given back as soon as it is taken from this member's plan and its work has settled. When the member owns nothing more, it stops as
   * by {@link ShardSupervisor.stop}. Without other members the supervisor gives the shards back all the same.
   * Takes as long as the planner, the others' `prepare` and the work take.
   *
   * @throws as {@link ShardSupervisor.stop} does; then the drain goes on
   */
  async drain(options?: StopOptions): Promise<void> {
    await this.#loop.end(() => this.#drain(), options);
  }

  /** Never rejects. */
  async #drain(): Promise<void> {
    const { participation } = this.#loop;
    if (participation !== undefined) {
      const drained = Promise.race([participation.drain(), this.#loop.ended]);
      if (participation.isWithinWork) {
        void drained.then(() => this.#leave()); // The caller is work that the drain waits for.
        return;
      }
      await drained;
    }
    await this.#leave();
  }

  /** Never rejects. */
  async #leave(): Promise<void> {
    this.#loop.stop();
    if (this.#loop.isWithinHook) return;
    const { participation } = this.#loop;
    const isWithinWork = participation?.isWithinWork === true;
    const withdrawn = participation?.withdraw();
    if (isWithinWork) return;
    await withdrawn;
    await this.#loop.ended;
  }

  /** Stops it, for `await using`: the same as `stop()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Ends the process in good order at the first of these signals: all work stops and settles, the shards are given back, `options.cleanup`
   * runs, the session is closed, the process exits with `options.exitCode`. Exit codes, the deadline and a
   * second signal are the same as with `ElectionSupervisor.shutdownOn`.
   *
   * @param signals - names, as `['SIGTERM', 'SIGINT']`
   * @returns a function that cancels it, as long as no signal has come
   * @throws InvalidOptionError if a signal or an option is wrong
   * @throws InvalidStateError if the supervisor has stopped, or this was called before and not cancelled; and in a worker thread, which
   *   gets no signals
   */
  shutdownOn(signals: readonly NodeJS.Signals[], options?: ShardShutdownOptions): () => void {
    const resolved = resolveShutdown(signals, options, CHECKS);
    return this.#loop.shutdownOn(resolved, {
      held: () => ({ shards: this.#loop.participation?.owned ?? [] }),
      whatIsLeft: (progress) =>
        progress === 'cleaning' ? 'the clean-up of the shutdown still runs' : this.#loop.holdUp.what,
      stop: () => (resolved.drain ? this.drain() : this.stop()),
    });
  }

  /** @internal What it takes part with now. */
  get membership(): Pick<SupervisedMember, 'session' | 'owned' | 'shardCount'> | undefined {
    return this.#loop.participation;
  }

  /** @internal */
  protected override get reporting(): Reporting<ShardSupervisorEvents> {
    return {
      events: SHARD_SUPERVISOR_EVENTS,
      logger: this.#options.logger,
      message: 'something went wrong in the supervisor of shards',
    };
  }
}

const OUTSIDE = { ready: false, owned: 0, planner: false, stuck: [], lacking: [] };

function shardHealthOf(state: SupervisorState<SupervisedMember>, times: HealthTimes): ShardHealth {
  if (!('participation' in state)) return { ...OUTSIDE, ...outsideHealth(state, times) };
  const { participation } = state;
  const { session, isMember, isPlanner, owned, lacking } = participation;
  // `isHeld()` ends a shard whose lease is over: what is ending is read after that.
  const held = owned.filter((shard) => shard.isHeld()).length;
  const late = participation.ending.filter(({ sinceMs }) => times.now - sinceMs >= session.leaseMs);
  const stuck = late.filter(({ shard }) => shard.workCount > 0);
  const ago = ({ shard, sinceMs }: (typeof late)[number]) =>
    `${Math.round(times.now - sinceMs)} ms after it was to end (${shard.endedFor})`;
  const reasons = stuck.map((each) => `the work of shard ${each.shard.id} still runs, ${ago(each)}`);
  const isConnected = session.state.name === 'connected';
  // With no server in reach that goes without saying.
  const kept = isConnected ? late.filter((each) => !stuck.includes(each)) : [];
  reasons.push(...kept.map((each) => `shard ${each.shard.id} still has to be given back, ${ago(each)}`));
  if (session.state.name === 'suspended')
    reasons.push(`no server for ${Math.round(times.now - session.state.sinceMs)} ms`);
  if (!isMember) reasons.push(state.name === 'settling' ? 'leaves the group' : 'is joining the group');
  return {
    live: isMember || stuck.length === 0,
    ready: isMember && isConnected,
    owned: held,
    planner: isPlanner,
    stuck: stuck.map(({ shard }) => shard.id),
    lacking,
    reasons,
  };
}

/** What holds up the stop of a member. */
function holdUpOfMembership({ ending }: Pick<SupervisedMember, 'ending'>): StopWait {
  const working = ending.filter(({ shard }) => shard.workCount > 0).map(({ shard }) => shard.id);
  const [first] = working;
  if (first === undefined) return { by: 'servers', what: 'the shards still have to be given back' };
  const which = working.length === 1 ? `shard ${first}` : `${working.length} shards (${list(working)})`;
  return { by: 'work', what: `the work of ${which} still runs` };
}

const MOST_NAMED = 10;

function list(shards: readonly string[]): string {
  return shards.slice(0, MOST_NAMED).join(', ') + (shards.length > MOST_NAMED ? ', …' : '');
}

mark(ShardSupervisor, 'ShardSupervisor');
showAs(ShardSupervisor, ({ id, path, owned }) => ({ id, path, owned: owned.size }));
