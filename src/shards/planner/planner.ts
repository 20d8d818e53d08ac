import type { Term } from '../../election/term/term.js';
import { ShardEndedError, TermEndedError } from '../../errors.js';
import { type Abortable, onAbort } from '../../platform/async/lazy-abort-controller.js';
import { ignore } from '../../platform/async/promises.js';
import type { Timer } from '../../platform/time/clock.js';
import { DATA, FollowedNode } from '../../session/observers/followed-node.js';
import { isUnanswered } from '../../session/operations.js';
import type { Session } from '../../session/session.js';
import type { MemberWatch, MemberWatchListener, SeenMember } from '../members/member-watch.js';
import { NO_REPORT, serializePlan } from '../stored/data-formats.js';
import { uuidOf } from '../stored/group-paths.js';
import { AbsentMemberHomes, hasServed, homesByShard, type SeenHome } from './absent-member-homes.js';
import { type Handover, HandoverWaits, handoversOf } from './handover-waits.js';
import { assign } from './plan-around-refusing-members.js';
import { type PlanChange, writePlans } from './plan-writer.js';
import {
  ownersOf,
  type PlannerSnapshot,
  readPlannerSnapshot,
  type SnapshotSource,
} from './planner-snapshot.js';
import { ShortLivedMembers } from './short-lived-members.js';

/** What a planner needs. */
export interface PlannerOptions extends SnapshotSource {
  readonly watch: MemberWatch;
  /** A plan was written: by shard, the id of the member that is to own it. Must not throw. */
  onPlanned(planned: ReadonlyMap<string, string>): void;
}

/**
 * How long it waits after members have come for more of them, in milliseconds. Members of one deployment mostly come together, and each plan
 * moves shards; without an owner a shard waits for as long.
 */
export const SETTLE_MS = 200;
const LONGEST_SETTLING_MS = 10 * SETTLE_MS; // If members come all the time.

/**
 * Plans for one term of the group's planner: which member is to own which shard. All that it knows is in ZooKeeper, except since when
 * something waits. So it may end at any moment, and the next one goes on. Members go on without it.
 */
export class Planner {
  readonly #options: PlannerOptions;
  readonly #term: Term;
  /** The nodes of the members of the last plan. */
  #planned: ReadonlySet<string> | undefined;
  /** Whether records name no members but those that are there, as far as was read in this term. */
  #knowsTheGone = false;
  readonly #handovers = new HandoverWaits();
  readonly #homes = new AbsentMemberHomes();
  readonly #earlyEnds = new ShortLivedMembers();
  /** The ids of the members whose shards wait for them. */
  #awaited: ReadonlySet<string> = new Set();
  /** Until a plan is due though nothing is written. */
  #wake: Timer | undefined;
  #settling: { readonly timer: Timer; readonly since: number } | undefined;
  #isDue = false;
  #planning: Promise<void> | undefined;

  constructor(options: PlannerOptions, term: Term) {
    this.#options = options;
    this.#term = term;
    if (term.signal.aborted) return;
    const { session, paths, onError } = options;
    const listener = { onChange: () => this.#noted(), onError };
    const wakeUps = [paths.reports, paths.pins].map((path) => followWakeUps(session, path, listener));
    onAbort(term.signal, () => {
      this.#settling?.timer.clear();
      this.#wake?.clear();
      for (const wakeUp of wakeUps) wakeUp.stop();
    });
  }

  /**
   * The term has begun.
   * @param hasFollowed - this member was in line before, and knows who is there: what the former planner has left is planned at once.
   *   Otherwise more members may be about to come
   */
  begin(hasFollowed: boolean): void {
    if (!hasFollowed) return this.changed();
    if (this.#term.signal.aborted) return;
    this.#planned = new Set(this.#options.watch.present.map(({ node }) => node)); // By the former planner, as far as is known.
    this.#planNow();
  }

  /**
   * Members have come or gone. Members mostly come together, so it waits for more of them. It plans at once for members that have gone,
   * which have left shards, and for members that were awaited, whose shards wait for them.
   */
  changed(): void {
    if (this.#term.signal.aborted) return;
    const { watch, session } = this.#options;
    const present = new Set(watch.present.map(({ node }) => node));
    const hasGone = [...(this.#planned ?? [])].some((node) => !present.has(node));
    if (hasGone) this.#knowsTheGone = false;
    if (hasGone || this.#hasReturned) return this.#planNow();
    const now = session.clock.now();
    const since = this.#settling?.since ?? now;
    this.#settling?.timer.clear();
    const waitMs = Math.min(SETTLE_MS, since + LONGEST_SETTLING_MS - now);
    this.#settling = { since, timer: session.clock.after(Math.max(0, waitMs), () => this.#planNow()) };
  }

  /** Whether a member whose shards wait for it has come since the last plan. */
  get #hasReturned(): boolean {
    const { present } = this.#options.watch;
    return present.some(({ node, id }) => this.#awaited.has(id) && this.#planned?.has(node) === false);
  }

  /**
   * Plans by the records of all shards, since the group has other shards, or a connection was lost. The records of new shards may name
   * members of former times, and publications may have numbers of the former list. Servers that have taken back what they had committed have
   * lost their connections, too. Records may then name members whose tombstones are gone, and no watch tells of nodes that go back.
   */
  readAll(): void {
    this.#knowsTheGone = false;
    this.#noted();
  }

  /** Resolves when a plan that has begun is over. */
  async ended(): Promise<void> {
    await this.#planning;
  }

  /** Something was written that a plan is made from. If the first plan of the term is still to come, that reads it. */
  #noted(): void {
    const hasBegun = this.#planned !== undefined || this.#planning !== undefined;
    if (hasBegun && !this.#term.signal.aborted) this.#planNow();
  }

  #planNow(): void {
    this.#settling?.timer.clear();
    this.#settling = undefined;
    this.#isDue = true;
    this.#planning ??= this.#plan();
  }

  #wakeIn(ms: number): void {
    this.#wake?.clear();
    if (ms === Number.POSITIVE_INFINITY || this.#term.signal.aborted) return;
    this.#wake = this.#options.session.clock.after(ms, () => this.#planNow());
  }

  /** Never rejects. */
  async #plan(): Promise<void> {
    const { signal } = this.#term;
    try {
      while (this.#isDue && !signal.aborted) {
        this.#isDue = false;
        await this.#planOnce(signal);
      }
    } catch (error) {
      const isOver = signal.aborted || error instanceof TermEndedError || error instanceof ShardEndedError;
      if (!isOver) this.#retry(error);
    } finally {
      this.#planning = undefined;
    }
  }

  #retry(error: unknown): void {
    this.#knowsTheGone = false;
    const { session, onError } = this.#options;
    if (!isUnanswered(error)) onError(error);
    if (session.ended.aborted) return;
    this.#settling?.timer.clear();
    const timer = session.clock.after(session.leaseMs, () => this.#planNow());
    this.#settling = { since: session.clock.now(), timer };
  }

  async #planOnce(signal: Abortable): Promise<void> {
    const { watch, session, onPlanned } = this.#options;
    if (!watch.hasLooked) return; // It says so when it has.
    const { present } = watch;
    const knowsTheGone = this.#knowsTheGone;
    this.#knowsTheGone = true; // Unless it is found, or told, that it doesn't.
    const snapshot = await readPlannerSnapshot(this.#options, present, signal, knowsTheGone);
    if (this.#noteNamed(snapshot)) this.#knowsTheGone = false;
    const { holders } = snapshot;
    const nodes = new Map([...snapshot.members.values()].map(({ id, node }) => [id, node]));
    const now = session.clock.now();
    const homes = this.#homes.update(snapshot.homes, new Set(nodes.keys()), now);
    const left = new Set(snapshot.homes.map(({ id }) => id));
    const passedOver = this.#earlyEnds.passedOver(present, left, now);
    const planned = assign({
      shards: snapshot.shards.list.ids,
      members: ableMembers(snapshot, passedOver.nodes),
      awaited: homes.awaited,
      owners: ownersOf(snapshot),
      homes: homesByShard(homes.kept),
      pins: snapshot.pins,
    });
    const handovers = this.#handovers.update(handoversOf(snapshot, holders, planned), now);
    this.#earlyEnds.gave(new Set([...planned.values()].flatMap((id) => nodes.get(id) ?? [])), now);
    this.#wakeIn(Math.min(handovers.nextMs, homes.nextMs, passedOver.nextMs));
    this.#awaited = new Set(homes.awaited.map(({ id }) => id));
    const isComplete = await writePlans(
      session,
      this.#term,
      this.#changes(snapshot, planned, handovers.waiting),
    );
    if (!isComplete) this.#isDue = true;
    this.#planned = new Set(present.map(({ node }) => node));
    if (this.#hasReturned) this.#isDue = true; // It came before it was known that it is awaited.
    onPlanned(planned);
    const served = homes.kept.filter((home) => hasServed(home, holders, planned, nodes.get(home.id)));
    await Promise.all([
      this.#removeTombstones(snapshot),
      this.#removeHomes(isComplete ? [...homes.over, ...served] : homes.over),
    ]);
  }

  /** Unless their members have left again meanwhile. */
  async #removeHomes(homes: readonly SeenHome[]): Promise<void> {
    const { session } = this.#options;
    await Promise.all(homes.map(({ path, version }) => session.remove(path, version).catch(ignore)));
  }

  /** The plans that differ from those that are there. A second member of an id has none. */
  #changes(
    { shards, members, plans }: PlannerSnapshot,
    planned: ReadonlyMap<string, string>,
    waiting: readonly Handover[],
  ): PlanChange[] {
    const { paths } = this.#options;
    const byId = new Map<string, string[]>([...members.values()].map(({ id }) => [id, []]));
    for (const [shard, id] of planned) byId.get(id)?.push(shard);
    for (const { shard, from } of waiting) byId.get((members.get(from) as SeenMember).id)?.push(shard);
    return [...plans].flatMap(([node, { data: before }]) => {
      const id = members.get(node)?.id;
      const data = serializePlan(id === undefined ? [] : (byId.get(id) ?? []), shards);
      return before.equals(data) ? [] : [{ path: paths.planOf(node), data }];
    });
  }

  /** @returns whether records name members that aren't there */
  #noteNamed({ records, tombstones }: PlannerSnapshot): boolean {
    const { watch } = this.#options;
    const present = new Set(watch.present.map(({ node }) => node));
    const buried = new Set(tombstones);
    let areAllThere = true;
    for (const { value } of records ?? []) {
      if (value.state !== 'held' || present.has(value.node)) continue;
      areAllThere = false;
      if (!buried.has(uuidOf(value.node))) watch.noteNamed(value.node);
    }
    return !areAllThere;
  }

  /** Those that no record names. Others wait for the next plan. */
  async #removeTombstones({ records, tombstones }: PlannerSnapshot): Promise<void> {
    const { session, paths } = this.#options;
    if (records === undefined) return; // There were none.
    const named = new Set(
      records.flatMap(({ value }) => (value.state === 'held' ? [uuidOf(value.node)] : [])),
    );
    const unnamed = tombstones.filter((name) => !named.has(name));
    const remove = (name: string) => session.remove(`${paths.tombstones}/${name}`).catch(ignore);
    await Promise.all(unnamed.map(remove));
  }
}

/**
 * Those that don't drain, and aren't passed over if there are others. One that stalls claims nothing before it goes on: it keeps what it owns,
 * and others get the rest.
 */
function ableMembers(
  { shards, members, reports, holders }: PlannerSnapshot,
  passedOver: ReadonlySet<string>,
) {
  const able = [...members.values()].flatMap(({ node, id, weight, stalls }) => {
    const { draining, refused } = reports.get(node) ?? NO_REPORT;
    const others = stalls ? shards.list.ids.filter((shard) => holders.get(shard) !== node) : [];
    return draining ? [] : [{ node, stalls, id, weight, refuses: new Set([...refused, ...others]) }];
  });
  const others = able.filter(({ node }) => !passedOver.has(node));
  return others.some(({ stalls }) => !stalls) ? others : able;
}

/**
 * Follows a persistent node of the group that is written when the planner has something to read.
 * @param listener.onChange - the node has changed since it was read first, or may have
 * @param listener.onError - the node can't be watched now. It is tried again
 */
export function followWakeUps(session: Session, path: string, listener: MemberWatchListener) {
  const { onChange, onError } = listener;
  let isNews = false; // The first read shows no change, unless the node may have been written while it wasn't watched.
  let hasFailed = false;
  const read = () => {
    hasFailed = false;
    if (isNews) onChange();
    isNews = true;
  };
  const missing = () => {
    isNews = true;
    onChange();
  };
  const failed = (error: unknown) => {
    if (session.ended.aborted) return;
    isNews = true;
    if (!hasFailed) onError(error);
    hasFailed = true;
  };
  return new FollowedNode(session, path, DATA, { read, missing, failed }, { whenMissing: 'make' });
}
