import type { Term } from '../election/term/term.js';
import { NoNodeError, ShardEndedError, TermEndedError } from '../errors.js';
import { compareEntries, parseEntry, type QueueEntry } from '../lock/queue/order.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { ignore } from '../platform/async/promises.js';
import type { Timer } from '../platform/time/clock.js';
import { isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import type { MemberWatch, SeenMember } from './members/member-watch.js';
import type { GroupPaths } from './nodes/group-paths.js';
import { parsePlan, serializePlan } from './nodes/plan-data.js';
import type { ShardList } from './nodes/shard-list.js';
import type { SeenRecord, ShardRecords } from './ownership/shard-records.js';
import { plan } from './plan.js';

/** What a planner needs. */
export interface PlannerOptions {
  readonly session: Session;
  readonly paths: GroupPaths;
  readonly list: ShardList;
  readonly records: ShardRecords;
  readonly watch: MemberWatch;
  /** How long it waits after members have come for more of them, in milliseconds. */
  readonly settleMs: number;
  /** A plan was written: by shard, the id of the member that is to own it. */
  onPlanned(planned: ReadonlyMap<string, string>): void;
  onError(error: unknown): void;
}

const MOST_BYTES = 200_000; // Of plans in a transaction; ZooKeeper takes 1 MB. The longest plan of 100,000 shards has 700,000.
const LONGEST_SETTLING = 10; // Times `settleMs`, if members come all the time.

/**
 * Plans for one term of the group's planner: which member is to own which shard. It keeps nothing that isn't in ZooKeeper, so it may end at
 * any moment, and the next one goes on. Members go on without it.
 */
export class Planner {
  readonly #options: PlannerOptions;
  readonly #term: Term;
  /** The nodes of the members of the last plan. */
  #planned: ReadonlySet<string> | undefined;
  #settling: { readonly timer: Timer; readonly since: number } | undefined;
  #isDue = false;
  #planning: Promise<void> | undefined;

  constructor(options: PlannerOptions, term: Term) {
    this.#options = options;
    this.#term = term;
    term.signal.addEventListener('abort', () => this.#settling?.timer.clear(), { once: true });
  }

  /** Members have come or gone, or the term has just begun. Those that come mostly do so together; those that go have left shards. */
  changed(): void {
    if (this.#term.signal.aborted) return;
    const { watch, session, settleMs } = this.#options;
    const present = new Set(watch.present.map(({ node }) => node));
    const hasGone = [...(this.#planned ?? [])].some((node) => !present.has(node));
    if (hasGone) return this.#planNow();
    const now = session.clock.now();
    const since = this.#settling?.since ?? now;
    this.#settling?.timer.clear();
    const waitMs = Math.min(settleMs, since + LONGEST_SETTLING * settleMs - now);
    this.#settling = { since, timer: session.clock.after(Math.max(0, waitMs), () => this.#planNow()) };
  }

  /** What has begun is over. */
  async ended(): Promise<void> {
    await this.#planning;
  }

  #planNow(): void {
    this.#settling?.timer.clear();
    this.#settling = undefined;
    this.#isDue = true;
    this.#planning ??= this.#plan();
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
    const { session, onError } = this.#options;
    if (!isUnanswered(error)) onError(error);
    if (session.ended.aborted) return;
    const timer = session.clock.after(session.leaseMs, () => this.#planNow());
    this.#settling = { since: session.clock.now(), timer };
  }

  async #planOnce(signal: Abortable): Promise<void> {
    const { watch, records, list, session, paths } = this.#options;
    if (!watch.hasLooked) return; // It says so when it has.
    const members = oldestOfEachId(watch.present);
    // A member that has a tombstone writes no record any more: what names none now never will.
    const tombstones = await session.retryUntilAnswered(() => session.getChildren(paths.tombstones), signal);
    const [seen, plans] = await Promise.all([
      records.read(list.ids, signal),
      this.#readPlans(watch.present, signal),
    ]);
    const live = new Map(members.map(({ node, id }) => [node, id]));
    const owners = new Map<string, string>();
    for (const [node, { shards }] of plans) {
      const id = live.get(node);
      if (id !== undefined) for (const shard of shards) owners.set(list.ids[shard] as string, id);
    }
    for (const { shard, record } of seen) {
      const owner = record.state === 'held' ? live.get(record.node) : undefined;
      if (owner !== undefined) owners.set(shard, owner);
    }
    this.#noteNamed(seen, new Set(tombstones));
    const planned = plan({ shards: list.ids, members, owners });
    await this.#write(live, plans, planned);
    this.#planned = new Set(watch.present.map(({ node }) => node));
    this.#options.onPlanned(planned);
    await this.#removeTombstones(tombstones, seen);
  }

  async #readPlans(members: readonly SeenMember[], signal: Abortable) {
    const { session, paths, list } = this.#options;
    const plans = new Map<string, { readonly shards: readonly number[]; readonly data: Buffer }>();
    await Promise.all(
      members.map(async ({ node }) => {
        try {
          const { data } = await session.retryUntilAnswered(
            () => session.getData(paths.planOf(node)),
            signal,
          );
          plans.set(node, { data, shards: parsePlan(data, list.count) ?? [] });
        } catch (error) {
          if (!(error instanceof NoNodeError)) throw error; // It has gone.
        }
      }),
    );
    return plans;
  }

  async #write(
    live: ReadonlyMap<string, string>,
    plans: ReadonlyMap<string, { readonly data: Buffer }>,
    planned: ReadonlyMap<string, string>,
  ): Promise<void> {
    const { list, paths } = this.#options;
    const shardsOf = new Map<string, number[]>([...live.values()].map((id) => [id, []]));
    for (const [shard, id] of planned) shardsOf.get(id)?.push(list.numberOf(shard) as number);
    const changes = [...plans].flatMap(([node, { data: before }]) => {
      const id = live.get(node);
      const data = serializePlan(id === undefined ? [] : (shardsOf.get(id) as number[])); // A second one of an id gets none.
      return before.equals(data) ? [] : [{ path: paths.planOf(node), data }];
    });
    for (const batch of inBatches(changes)) {
      const transaction = this.#term.transaction();
      for (const { path, data } of batch) transaction.setData(path, data);
      try {
        await transaction.commit();
      } catch (error) {
        if (!(error instanceof NoNodeError)) throw error;
        this.#isDue = true; // A member has gone meanwhile.
      }
    }
  }

  #noteNamed(seen: readonly SeenRecord[], tombstones: ReadonlySet<string>): void {
    const { watch, paths } = this.#options;
    const present = new Set(watch.present.map(({ node }) => node));
    for (const { record } of seen) {
      if (record.state !== 'held' || present.has(record.node)) continue;
      const tombstone = paths.tombstoneOf(record.node).slice(paths.tombstones.length + 1);
      if (!tombstones.has(tombstone)) watch.noteNamed(record.node);
    }
  }

  /** Those that no record names. Others wait for the next plan. */
  async #removeTombstones(tombstones: readonly string[], seen: readonly SeenRecord[]): Promise<void> {
    const { session, paths } = this.#options;
    const named = new Set(
      seen.flatMap(({ record }) => (record.state === 'held' ? [paths.tombstoneOf(record.node)] : [])),
    );
    const unnamed = tombstones
      .map((name) => `${paths.tombstones}/${name}`)
      .filter((path) => !named.has(path));
    await Promise.all(unnamed.map((path) => session.remove(path).catch(ignore)));
  }
}

/** As many together as a transaction takes. */
function inBatches<T extends { readonly data: Buffer }>(changes: readonly T[]): T[][] {
  const batches: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const change of changes) {
    bytes += change.data.length;
    if (bytes > MOST_BYTES) {
      batches.push([]);
      bytes = change.data.length;
    }
    batches.at(-1)?.push(change);
  }
  return batches;
}

/** Of two live members with one id the older one is the member. */
function oldestOfEachId(members: readonly SeenMember[]): SeenMember[] {
  const byId = new Map<string, SeenMember>();
  const entryOf = ({ node }: SeenMember) => parseEntry(node) as QueueEntry;
  const inOrder = [...members].sort((one, other) => compareEntries(entryOf(one), entryOf(other)));
  for (const member of inOrder) if (!byId.has(member.id)) byId.set(member.id, member);
  return [...byId.values()];
}
