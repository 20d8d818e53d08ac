import type { Claim } from '../../election/term/term.js';
import type { ShardEndReason } from '../../errors.js';
import { BatchPerTurn } from '../../platform/async/batch-per-turn.js';
import { type Deferred, deferred, ignore } from '../../platform/async/promises.js';
import type { Contender } from '../../queue/contender.js';
import type { Session } from '../../session/session.js';
import type { GroupPaths } from '../stored/group-paths.js';
import type { ShardList } from '../stored/shard-list.js';
import { OwnedShard, type ShardListener } from './owned-shard.js';
import { OwnedShardsPublisher } from './owned-shards-publisher.js';
import { ShardClaims } from './shard-claims.js';
import { ShardRecords } from './shard-records.js';

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
 * to have. The plan says what should be, the records say what is.
 */
export class ShardOwner implements ShardListener {
  readonly #session: Session;
  readonly #member: Contender;
  readonly #records: ShardRecords;
  readonly #list: Pick<ShardList, 'numberOf'>;
  readonly #listener: ShardOwnerListener;
  readonly #claims: ShardClaims;
  readonly #handback: BatchPerTurn<OwnedShard>;
  readonly #publisher: OwnedShardsPublisher;
  /** By its plan. */
  #planned: ReadonlySet<string> = new Set();
  /** Their work has failed here. */
  #refused: ReadonlySet<string> = new Set();
  /** Those that are planned and not refused. */
  #wanted: ReadonlySet<string> = new Set();
  /** Those that it owns, and those that aren't given back yet. */
  readonly #shards = new Map<string, OwnedShard>();
  /** The listener was told of them, and not of their end. */
  readonly #announced = new Set<OwnedShard>();
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
    this.#member = member;
    this.#list = list;
    this.#listener = listener;
    this.#records = new ShardRecords(session, paths, member, id);
    this.#claims = new ShardClaims({ session, paths, member }, this.#records, {
      missing: () => [...this.#wanted].filter((shard) => !this.#shards.has(shard)),
      isWanted: (shard) => this.#wanted.has(shard),
      has: (shard) => this.#shards.has(shard),
      own: (shard, claim) => this.#own(shard, claim),
      giveBack: (shard, claim) => this.#end(this.#add(shard, claim), 'superseded'),
      accompany: (claimed, commit) =>
        this.#publisher.accompany(this.#numbersOf([...this.#shards.keys(), ...claimed]), commit),
      onAwaited: (shards) =>
        listener.onAwaited?.(shards.map((shard) => ({ id: shard, index: list.numberOf(shard) as number }))),
      onError: (error) => listener.onError(error),
    });
    this.#publisher = new OwnedShardsPublisher({
      ...{ session, lost: member.node.lost, path: paths.ownedOf(member.entry.node) },
      numbers: () => this.#numbersOf(this.#shards.keys()),
      onError: (error) => listener.onError(error),
    });
    this.#handback = new BatchPerTurn((shards) => void this.#giveBack(shards)); // Never rejects.
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
    return this.#mayBeNamed || this.#claims.areOpen;
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
    this.#claims.claimSoon();
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
    this.#claims.resumed();
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
   * member. Requests that are on their way go on until the session ends.
   */
  giveUp(): void {
    if (this.#shards.size > 0) this.#mayBeNamed = true;
    for (const shard of this.#shards.values()) this.#forget(shard);
  }

  async #stop(reason: ShardEndReason): Promise<void> {
    this.#hasStopped = true;
    this.#wanted = new Set();
    const stopped = this.#claims.stop();
    for (const shard of this.owned) this.#end(shard, reason);
    await stopped;
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
    const left = new Map(shards.map((shard) => [shard.id, shard]));
    const gone = (shard: OwnedShard) => {
      left.delete(shard.id);
      this.#forget(shard);
    };
    try {
      await this.#records.release(new Map(shards.map(({ id, claim }) => [id, claim])), {
        onCertain: (id) => {
          this.#claims.returned(id);
          gone(left.get(id) as OwnedShard);
        },
        onRefused: (error) => this.#listener.onError(error),
        givesUp: () => this.#hasStopped,
        accompany: (released, commit) => {
          const given = new Set(released);
          const kept = [...this.#shards.keys()].filter((shard) => !given.has(shard));
          return this.#publisher.accompany(this.#numbersOf(kept), commit);
        },
      });
    } catch (error) {
      if (!this.#session.ended.aborted && !this.#member.node.isGone) this.#listener.onError(error);
    }
    if (left.size > 0) this.#mayBeNamed = true; // Others wait for this member's tombstone.
    for (const shard of left.values()) gone(shard);
  }

  #forget(shard: OwnedShard): void {
    shard.forget();
    if (this.#shards.get(shard.id) === shard) this.#shards.delete(shard.id);
    this.#publisher.changed();
    if (this.#announced.delete(shard)) this.#listener.onEnded(shard);
    if (this.#shards.size === 0) this.#givingBack?.resolve();
    this.#claims.claimSoon(); // The plan may give it this one again.
  }

  #add(id: string, claim: Claim): OwnedShard {
    const index = this.#list.numberOf(id) ?? -1; // The group no longer has it: it isn't wanted, and is given back at once.
    const place = { node: this.#member.node, absoluteRecord: this.#session.absolute(claim.record) };
    const shard = new OwnedShard({ id, index }, claim, place, this.#session.clock, this);
    this.#shards.set(id, shard);
    this.#publisher.changed();
    return shard;
  }

  #numbersOf(shards: Iterable<string>): number[] {
    return [...shards].flatMap((shard) => this.#list.numberOf(shard) ?? []);
  }

  #own(id: string, claim: Claim): void {
    if (this.#shards.has(id)) return;
    const shard = this.#add(id, claim);
    if (this.#hasStopped || !this.#wanted.has(id)) return this.#end(shard, this.#whyNot(id));
    this.#announced.add(shard);
    this.#listener.onAcquired(shard);
  }
}
