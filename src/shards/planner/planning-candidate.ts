import { registerWithGuardian } from '../../cluster/dead-children/register-with-guardian.js';
import { LeaderElector } from '../../election/leader-elector.js';
import type { Term } from '../../election/term/term.js';
import { WorkOverrunError } from '../../errors.js';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import type { Contender } from '../../queue/contender.js';
import type { Session } from '../../session/session.js';
import { MemberWatch } from '../members/member-watch.js';
import { ShardRecords } from '../ownership/shard-records.js';
import type { GroupPaths } from '../stored/group-paths.js';
import type { GroupShards } from '../stored/shard-list.js';
import { Planner } from './planner.js';

/** A host that dies may take the planner and the next in line with it: the third has seen when their heartbeats ended. */
const LAST_OBSERVER = 2;

/** How a member plans if it is elected. */
export interface PlanningOptions {
  /** The member's. */
  readonly id: string;
  /** Whether to register what it leads with a guardian in the parent process, if there is one. */
  readonly guardian?: boolean;
}

/** What is told of a member's part in the planning. Must not throw. */
export interface PlanningListener {
  /** This member is the planner, and has written a plan: by shard, the id of the member that is to own it. */
  onPlanned(planned: ReadonlyMap<string, string>): void;
  onError(error: unknown): void;
}

/**
 * A member's part in the planning: it stands for election as the planner of its group. As the planner, and as one of the next two in line,
 * it watches all members, and replaces those that have failed.
 */
export class PlanningCandidate {
  readonly #session: Session;
  readonly #paths: GroupPaths;
  readonly #member: Contender;
  readonly #shards: () => GroupShards;
  readonly #options: PlanningOptions;
  readonly #listener: PlanningListener;
  readonly #elector: LeaderElector;
  /** While it is the planner or one of the next two in line. */
  #watch: MemberWatch | undefined;
  #planner: Planner | undefined;
  #hasStopped = false;

  /** @param shards - which the group has, as far as they are known */
  constructor(
    session: Session,
    paths: GroupPaths,
    member: Contender,
    shards: () => GroupShards,
    options: PlanningOptions,
    listener: PlanningListener,
  ) {
    this.#session = session;
    this.#paths = paths;
    this.#member = member;
    this.#shards = shards;
    this.#options = options;
    this.#listener = listener;
    const { id, guardian } = options;
    this.#elector = new LeaderElector(session, paths.planner, {
      ...{ id, logger: session.logger },
      lead: (term) => this.#lead(term),
    });
    // A plan can wait for the next planner, and the shards of a member that dies can't wait for this one.
    this.#elector.withoutRepeats();
    this.#elector
      .on('waiting', ({ position }) => this.#follow(position <= LAST_OBSERVER))
      .on('error', (error) => {
        // A plan that outlasts its term does no harm: the servers refuse what it writes.
        if (!(error instanceof WorkOverrunError)) listener.onError(error);
      });
    if (guardian === true) registerWithGuardian(session, this.#elector);
  }

  get isPlanner(): boolean {
    return this.#elector.isLeader;
  }

  start(): void {
    this.#elector.start().catch((error: unknown) => {
      if (!this.#hasStopped && !this.#session.ended.aborted) this.#listener.onError(error);
    });
  }

  /** The group has other shards. */
  relisted(): void {
    this.#planner?.relisted();
  }

  /** A connection was lost. */
  resumed(): void {
    this.#planner?.resumed();
  }

  /** Plans no more, and leaves the election. Never rejects. */
  async stop(): Promise<void> {
    this.#hasStopped = true;
    this.#follow(false);
    await this.#elector.stop();
  }

  /** Watches the others, or doesn't any more. */
  #follow(watches: boolean): void {
    if (!watches) {
      this.#watch?.stop();
      this.#watch = undefined;
      return;
    }
    if (this.#hasStopped) return;
    this.#watch ??= new MemberWatch(this.#session, this.#paths, this.#member.entry.node, {
      onChange: () => this.#planner?.changed(),
      onError: (error) => this.#listener.onError(error),
    });
  }

  async #lead(term: Term): Promise<void> {
    const hasFollowed = this.#watch?.hasLooked === true;
    this.#follow(true);
    const watch = this.#watch;
    if (watch === undefined) return;
    const [session, paths] = [this.#session, this.#paths];
    const planner = new Planner(
      {
        ...{ session, paths, watch },
        shards: this.#shards,
        records: new ShardRecords(session, paths, this.#member, this.#options.id),
        onPlanned: (planned) => this.#listener.onPlanned(planned),
        onError: (error) => this.#listener.onError(error),
      },
      term,
    );
    this.#planner = planner;
    if (hasFollowed) await watch.looked(); // The former planner is mostly gone by then: with it the first plan would be in vain.
    planner.begin(hasFollowed);
    await new Promise<void>((resolve) => onAbort(term.signal, resolve));
    await planner.ended();
    if (this.#planner === planner) this.#planner = undefined;
  }
}
