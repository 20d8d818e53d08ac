import { registerWithGuardian } from '../../cluster/dead-children/register-with-guardian.js';
import { LeaderElector } from '../../election/leader-elector.js';
import type { Term } from '../../election/term/term.js';
import { WorkOverrunError } from '../../errors.js';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import type { Contender } from '../../queue/contender.js';
import { MemberWatch } from '../members/member-watch.js';
import { ShardRecords } from '../ownership/shard-records.js';
import { Planner, type PlannerOptions } from './planner.js';

/** A host that dies may take the planner and the next in line with it: the third has seen when their heartbeats ended. */
const LAST_OBSERVER = 2;

/** How a member plans if it is elected. */
export interface PlanningOptions extends Omit<PlannerOptions, 'watch' | 'records'> {
  readonly member: Contender;
  /** The member's. */
  readonly id: string;
  /** Whether to register what it leads with a guardian in the parent process, if there is one. */
  readonly guardian: boolean | undefined;
}

/**
 * A member's part in the planning: it stands for election as the planner of its group. As the planner, and as one of the next two in line,
 * it watches all members, and replaces those that have failed.
 */
export class PlanningCandidate {
  readonly #options: PlanningOptions;
  readonly #elector: LeaderElector;
  /** While it is the planner or one of the next two in line. */
  #watch: MemberWatch | undefined;
  #planner: Planner | undefined;
  #hasStopped = false;

  constructor(options: PlanningOptions) {
    this.#options = options;
    const { session, paths, id, guardian, onError } = options;
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
        if (!(error instanceof WorkOverrunError)) onError(error);
      });
    if (guardian === true) registerWithGuardian(session, this.#elector);
  }

  get isPlanner(): boolean {
    return this.#elector.isLeader;
  }

  start(): void {
    const { session, onError } = this.#options;
    this.#elector.start().catch((error: unknown) => {
      if (!this.#hasStopped && !session.ended.aborted) onError(error);
    });
  }

  /** The group has other shards, or a connection was lost. */
  readAll(): void {
    this.#planner?.readAll();
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
    const { session, paths, member, onError } = this.#options;
    const onChange = () => this.#planner?.changed();
    this.#watch ??= new MemberWatch(session, paths, member.entry.node, { onChange, onError });
  }

  async #lead(term: Term): Promise<void> {
    const hasFollowed = this.#watch?.hasLooked === true;
    this.#follow(true);
    const watch = this.#watch;
    if (watch === undefined) return;
    const { session, paths, member, id } = this.#options;
    const records = new ShardRecords(session, paths, member, id);
    const planner = new Planner({ ...this.#options, watch, records }, term);
    this.#planner = planner;
    if (hasFollowed) await watch.looked(); // The former planner is mostly gone by then: with it the first plan would be in vain.
    planner.begin(hasFollowed);
    await new Promise<void>((resolve) => onAbort(term.signal, resolve));
    await planner.ended();
    if (this.#planner === planner) this.#planner = undefined;
  }
}
