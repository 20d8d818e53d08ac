import type { Claim } from '../../election/term/claim.js';
import type { ShardEndReason } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { onAbort } from '../../platform/async/lazy-abort.js';
import { type Deferred, deferred, ignore } from '../../platform/async/promises.js';
import type { Timer } from '../../platform/time/clock.js';
import type { Session } from '../../session/session.js';
import type { GroupPaths } from '../nodes/group-paths.js';
import type { ShardList } from '../nodes/shard-list.js';
import { BlockedShards } from './blocked-shards.js';
import { Collector } from './collector.js';
import { Publisher } from './publisher.js';
import { OwnedShard, type ShardListener } from './shard.js';
import { type SeenRecord, ShardRecords } from './shard-records.js';

/** What is told of a member's shards. None of it is called on the connection's stack. */
export interface ShardOwnerListener {
  /** The member owns it from now on. */
  onAcquired(shard: OwnedShard): void;
  /** Its work has settled. It was given back, or is lost. */
  onEnded(shard: OwnedShard): void;
  onWorkFailed(shard: OwnedShard, cause: unknown): void;
  /** The work of a shard still ran when its lease ended: it may have acted beside another owner. */
  onOverrun(shard: OwnedShard): void;
  /** These are to be owned, and others own them now. Called whenever that may have changed. */
  onAwaited?(shards: readonly { readonly id: string; readonly index: number }[]): void;
  /** The shards can't be claimed or given back. */
  onError(error: unknown): void;
}

/**
 * Owns shards for one member, as its plan says: claims those that it lacks, as soon as they are free, and gives back those that it is not
 * to have. A plan says what should be. What is, the records say.
 */
export class ShardOwner implements ShardListener {
  readonly #session: Session;
  readonly #paths: GroupPaths;
  readonly #member: Contender;
  readonly #records: ShardRecords;
  readonly #list: Pick<ShardList, 'numberOf'>;
  readonly #listener: ShardOwnerListener;
  readonly #blocked: BlockedShards;
  readonly #handback: Collector<OwnedShard>;
  readonly #publisher: Publisher;
  /** By its plan. */
  #planned: ReadonlySet<string> = new Set();
  /** Their work has failed here. */
  #refused: ReadonlySet<string> = new Set();
  /** Those that are planned and not refused. */
  #wanted: ReadonlySet<string> = new Set();
  /** Those that it owns, and those that aren't given back yet. */
  readonly #shards = new Map<string, OwnedShard>();
  /** A claim of them wasn't answered: the records may name this member. */
  readonly #unsure = new Set<string>();
  /** Their records are missing or can't be read, and that was reported. */
  readonly #unavailable = new Set<string>();
  /** The listener was told of them, and not of their end. */
  readonly #announced = new Set<OwnedShard>();
  #later: Timer | undefined;
  /** Shards are to be claimed, or may be free now. */
  #isDue = false;
  #claiming: Promise<void> | undefined;
  #hasStopped = false;
  /** Once it has stopped, until nothing is left to be given back. */
  #givingBack: Deferred<void> | undefined;
  #mayBeNamed = false;

  constructor(
    { session, paths, member, id }: { session: Session; paths: GroupPaths; member: Contender; id: string },
    list: Pick<ShardList, 'numberOf'>,
    listener: ShardOwnerListener,
  ) {
    this.#session = session;
    this.#paths = paths;
    this.#member = member;
    this.#list = list;
    this.#listener = listener;
    this.#records = new ShardRecords(session, paths, member, id);
    this.#blocked = new BlockedShards(session, paths, () => this.#claimSoon());
    onAbort(member.node.lost, () => this.#later?.clear());
    this.#publisher = new Publisher({
      ...{ session, lost: member.node.lost, path: paths.ownedOf(member.entry.node) },
      numbers: () => this.#numbersOf(this.#shards.keys()),
      onError: (error) => listener.onError(error),
    });
    this.#handback = new Collector((shards) => void this.#giveBack(shards)); // Never rejects.
  }

  /** Those that it owns. */
  get owned(): OwnedShard[] {
    return [...this.#shards.values()].filter(({ endedFor }) => endedFor === undefined);
  }

  /** Those that it has to own by its plan, and doesn't. */
  get lacking(): string[] {
    return [...this.#wanted].filter(
      (shard) => this.#shards.get(shard)?.endedFor !== undefined || !this.#shards.has(shard),
    );
  }

  /** Whether records may name the member that it couldn't give back, or that it claimed without an answer. */
  get mayBeNamed(): boolean {
    return this.#mayBeNamed || this.#unsure.size > 0;
  }

  /** From now on it is to own these. */
  follow(shards: Iterable<string>): void {
    this.#planned = new Set(shards);
    this.#want();
  }

  /** It owns none of these, whatever the plan says, and gives them back. */
  refuse(shards: Iterable<string>): void {
    this.#refused = new Set(shards);
    this.#want();
  }

  #want(): void {
    if (this.#hasStopped) return;
    this.#wanted = new Set([...this.#planned].filter((shard) => !this.#refused.has(shard)));
    for (const shard of this.owned) if (!this.#wanted.has(shard.id)) this.#end(shard, this.#whyNot(shard.id));
    this.#claimSoon();
  }

  /** Why it isn't to own that one. */
  #whyNot(shard: string): ShardEndReason {
    if (this.#hasStopped) return 'stopped';
    return this.#refused.has(shard) ? 'failed' : 'moved';
  }

  /** The group has other shards: numbers in the publication may mean others. */
  relisted(): void {
    this.#publisher.changed();
  }

  /** A connection was lost: what was watched over it may have changed, and is read again. */
  resumed(): void {
    this.#blocked.stop();
    this.#claimSoon();
  }

  /** Gives all back, and claims no more. Resolves when the work has settled, and all has been given back or is lost. Never rejects. */
  async stop(reason: ShardEndReason = 'stopped'): Promise<void> {
    await this.#stop(reason);
    this.#publisher.stop();
  }

  /** Resolves when the work of all that it has has settled, after {@link stop} was called. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all([...this.#shards.values()].map((shard) => shard.settled(ignore)));
  }

  /**
   * No server answers, and the work has settled: what isn't given back by now ends, after {@link stop} was called. Its records may name the
   * member. What is on its way goes on until the session ends.
   */
  giveUp(): void {
    if (this.#shards.size > 0) this.#mayBeNamed = true;
    for (const shard of this.#shards.values()) this.#forget(shard);
  }

  async #stop(reason: ShardEndReason): Promise<void> {
    this.#hasStopped = true;
    this.#wanted = new Set();
    this.#blocked.stop();
    this.#await([]);
    for (const shard of this.owned) this.#end(shard, reason);
    await this.#claiming;
    this.#later?.clear();
    if (this.#shards.size === 0) return;
    this.#givingBack ??= deferred();
    await this.#givingBack.promise;
  }

  onLoss(shard: OwnedShard, reason: ShardEndReason, cause?: Error): void {
    this.#end(shard, reason, cause);
  }

  onWorkFailed(shard: OwnedShard, cause: unknown): void {
    this.#listener.onWorkFailed(shard, cause);
  }

  /** Signal, work, then the record. */
  #end(shard: OwnedShard, reason: ShardEndReason, cause?: Error): void {
    if (shard.endedFor !== undefined) return;
    shard.end(reason, cause);
    void shard.settled(() => this.#listener.onOverrun(shard)).then(() => this.#handback.add(shard));
  }

  /** Also what was lost: the record may say still that it is this member's. Never rejects. */
  async #giveBack(shards: readonly OwnedShard[]): Promise<void> {
    const left = new Map(shards.map((shard) => [shard.claim.record, shard]));
    const gone = (shard: OwnedShard) => {
      left.delete(shard.claim.record);
      this.#forget(shard);
    };
    try {
      await this.#records.release(
        shards.map(({ claim }) => claim),
        {
          onCertain: ({ record }) => gone(left.get(record) as OwnedShard),
          onRefused: (error) => this.#listener.onError(error),
          givesUp: () => this.#hasStopped,
          accompany: (released, commit) => {
            const given = new Set(released.map(({ record }) => left.get(record)?.id));
            const kept = [...this.#shards.keys()].filter((shard) => !given.has(shard));
            return this.#publisher.accompany(this.#numbersOf(kept), commit);
          },
        },
      );
    } catch (error) {
      if (!this.#session.ended.aborted) this.#listener.onError(error);
    }
    if (left.size > 0) this.#mayBeNamed = true; // Others wait for this member's tombstone.
    for (const shard of left.values()) gone(shard);
  }

  #forget(shard: OwnedShard): void {
    this.#shards.delete(shard.id);
    this.#publisher.changed();
    if (this.#announced.delete(shard)) this.#listener.onEnded(shard);
    if (this.#shards.size === 0) this.#givingBack?.resolve();
    this.#claimSoon(); // The plan may give it this one again.
  }

  #claimSoon(): void {
    this.#isDue = true;
    this.#claiming ??= this.#claim();
  }

  /** Nothing says when what was refused may be tried again. */
  #claimLater(): void {
    if (this.#hasStopped || this.#member.node.isGone) return;
    const { clock, leaseMs } = this.#session;
    this.#later ??= clock.after(leaseMs, () => {
      this.#later = undefined;
      this.#claimSoon();
    });
  }

  /** Never rejects. */
  async #claim(): Promise<void> {
    try {
      while (this.#isDue && !this.#member.node.isGone) {
        this.#isDue = false;
        await this.#claimOnce();
      }
    } catch (error) {
      // What has ended the member is told otherwise.
      if (!this.#hasStopped && !this.#member.node.isGone && !this.#session.ended.aborted) {
        this.#listener.onError(error);
        this.#claimLater();
      }
    } finally {
      this.#claiming = undefined;
    }
  }

  async #claimOnce(): Promise<void> {
    const lacking = [...this.#wanted].filter((shard) => !this.#shards.has(shard));
    const blocked = this.#blocked.keep(new Set(lacking));
    const asked = [...new Set([...lacking.filter((shard) => !blocked.has(shard)), ...this.#unsure])];
    if (asked.length === 0) return this.#await([]);
    const { node } = this.#member;
    if (!node.isHeld()) await node.renew(node.lost); // What it claims without a lease is of no use to it.
    const seen = await this.#records.read(asked, this.#member.node.lost);
    for (const each of seen) {
      // Its claim was carried out. What it is giving back isn't among these.
      this.#unsure.delete(each.shard);
      if (this.#records.isOwn(each)) this.#own(each.shard, this.#records.claimOf(each));
    }
    this.#noteUnavailable(asked, seen);
    const foreign = seen.filter((each) => !this.#records.isOwn(each));
    const buried = await this.#buried(foreign);
    const others = foreign.filter(({ shard }) => this.#wanted.has(shard)); // By now.
    const isFree = ({ record }: SeenRecord) =>
      record.state === 'vacant' || (record.state === 'held' && buried.has(record.node));
    const free = others.filter(isFree);
    this.#await(others.filter((each) => !isFree(each)));
    if (free.length === 0) return;
    for (const { shard } of free) this.#unsure.add(shard);
    let isRefused = false;
    const claims = await this.#records.claim(free, {
      onRefused: (error) => {
        isRefused = true;
        this.#listener.onError(error);
      },
      accompany: (claimed, commit) => {
        const owned = [...this.#shards.keys(), ...claimed.map(({ shard }) => shard)];
        return this.#publisher.accompany(this.#numbersOf(owned), commit);
      },
    });
    for (const [shard, claim] of claims) {
      this.#unsure.delete(shard);
      this.#own(shard, claim);
    }
    if (isRefused) this.#claimLater();
    else if (claims.size < free.length) this.#isDue = true; // Others were first, or it isn't known.
  }

  #await(blocked: readonly SeenRecord[]): void {
    if (!this.#hasStopped) this.#blocked.wait(blocked);
    const awaited = [...this.#blocked.shards].filter((shard) => this.#wanted.has(shard));
    this.#listener.onAwaited?.(awaited.map((id) => ({ id, index: this.#list.numberOf(id) as number })));
  }

  /** Records that another client has deleted or written, or that the session may not read, are looked for again and again. */
  #noteUnavailable(asked: readonly string[], seen: readonly SeenRecord[]): void {
    const readable = new Set(
      seen.flatMap(({ shard, record }) => (record.state === 'unreadable' ? [] : [shard])),
    );
    for (const shard of asked) {
      if (readable.has(shard)) {
        this.#unavailable.delete(shard);
        continue;
      }
      this.#claimLater();
      if (this.#unavailable.has(shard)) continue;
      this.#unavailable.add(shard);
      const path = this.#session.absolute(this.#paths.recordOf(shard));
      this.#listener.onError(
        new Error(
          `${path}, the record of shard ${shard}, is missing, or can't be read: no member can own the shard`,
        ),
      );
    }
  }

  /** Which of the owners have tombstones. */
  async #buried(seen: readonly SeenRecord[]): Promise<ReadonlySet<string>> {
    const owners = new Set(seen.flatMap(({ record }) => (record.state === 'held' ? [record.node] : [])));
    const looked = await Promise.all(
      [...owners].map(async (owner) => {
        const look = () => this.#session.exists(this.#paths.tombstoneOf(owner));
        const stat = await this.#session.retryUntilAnswered(look, this.#member.node.lost);
        return stat === undefined ? [] : [owner];
      }),
    );
    return new Set(looked.flat());
  }

  #numbersOf(shards: Iterable<string>): number[] {
    return [...shards].flatMap((shard) => this.#list.numberOf(shard) ?? []);
  }

  #own(id: string, claim: Claim): void {
    const index = this.#list.numberOf(id) ?? -1; // The group hasn't it any more: it isn't wanted, and is given back at once.
    const { node } = this.#member;
    if (this.#shards.has(id) || node.isGone) return;
    if (!node.isHeld()) {
      // It stood still, and its lease is over: others may own the shard by now. The record shows it, behind the next heartbeat.
      this.#unsure.add(id);
      this.#isDue = true;
      return;
    }
    const place = { node, absoluteRecord: this.#session.absolute(claim.record) };
    const shard = new OwnedShard({ id, index }, claim, place, this.#session.clock, this);
    this.#shards.set(id, shard);
    this.#publisher.changed();
    if (this.#hasStopped || !this.#wanted.has(id)) return this.#end(shard, this.#whyNot(id));
    this.#announced.add(shard);
    this.#listener.onAcquired(shard);
  }
}
