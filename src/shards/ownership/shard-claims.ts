import type { Claim } from '../../election/term/term.js';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import { batchesInTurns, type Timer } from '../../platform/time/clock.js';
import type { Contender } from '../../queue/contender.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { MOST_PARTS } from '../../session/versioned-records.js';
import type { GroupPaths } from '../stored/group-paths.js';
import { BlockedShards } from './blocked-shards.js';
import type { SeenShard, ShardRecords } from './shard-records.js';
import { UnansweredClaims } from './unanswered-claims.js';

/** What the claims ask their owner, and tell it. None of it may throw. */
export interface ShardClaimsPort {
  /** The ids of the shards that the member is to own, and that it neither has nor is giving back. */
  missing(): string[];
  isWanted(shard: string): boolean;
  /** Whether the member has it, or is giving it back. */
  has(shard: string): boolean;
  /** A claim was carried out, and the member's lease lasts. */
  own(shard: string, claim: Claim): void;
  /** The record names the member by a term that has ended: see {@link UnansweredClaims}. */
  giveBack(shard: string, claim: Claim): void;
  /** Carries out a transaction that claims these: see `Publisher.accompany`. */
  accompany<T>(
    shards: readonly string[],
    commit: (parts: readonly TransactionPart[]) => Promise<T>,
  ): Promise<T>;
  /** These are claimed as soon as their owners give them back. Called whenever that may have changed. */
  onAwaited(shards: readonly string[]): void;
  onError(error: unknown): void;
}

/** Claims the shards that a member is to own and lacks, as soon as they are free. One round of reads and claims at a time. */
export class ShardClaims {
  readonly #session: Session;
  readonly #paths: GroupPaths;
  readonly #member: Contender;
  readonly #records: ShardRecords;
  readonly #port: ShardClaimsPort;
  readonly #blocked: BlockedShards;
  /** Those that weren't answered, or too late. */
  readonly #open = new UnansweredClaims();
  readonly #unavailable = new UnavailableRecords();
  /** Given back over the present connection, and over one that was lost since. */
  readonly #returned = new Set<string>();
  #doubted: ReadonlySet<string> = new Set();
  /** The claims of the last round that weren't carried out, as far as is known: the versions at which the records were seen. */
  #failedAt: ReadonlyMap<string, number> = new Map();
  #later: Timer | undefined;
  /** Shards are to be claimed, or may be free now. */
  #isDue = false;
  #claiming: Promise<void> | undefined;
  #hasStopped = false;

  constructor(
    { session, paths, member }: { session: Session; paths: GroupPaths; member: Contender },
    records: ShardRecords,
    port: ShardClaimsPort,
  ) {
    this.#session = session;
    this.#paths = paths;
    this.#member = member;
    this.#records = records;
    this.#port = port;
    this.#blocked = new BlockedShards(session, paths, {
      free: () => this.claimSoon(),
      refused: () => this.#claimLater(),
    });
    onAbort(member.node.lost, () => this.#later?.clear());
  }

  /** Whether a record may name the member by a claim whose outcome isn't known. */
  get areOpen(): boolean {
    return this.#open.size > 0;
  }

  /** The member lacks other shards than before. */
  claimSoon(): void {
    this.#isDue = true;
    this.#claiming ??= this.#claim();
  }

  /** The member has given it back, and a server has answered that. */
  returned(shard: string): void {
    this.#returned.add(shard);
  }

  /**
   * A connection was lost: reads all shards again that were watched over it, and the records of the shards that were given back. Servers
   * that have taken a release back have lost their connections, too. No other member would ever claim such a shard: the record names a
   * member that lives.
   */
  resumed(): void {
    this.#blocked.stop();
    if (!this.#hasStopped) this.#doubted = new Set([...this.#doubted, ...this.#returned]);
    this.#returned.clear();
    this.claimSoon();
  }

  /** Resolves when no claim is on its way. Never rejects. */
  async stop(): Promise<void> {
    this.#hasStopped = true;
    this.#blocked.stop();
    this.#await([]);
    await this.#claiming;
    this.#later?.clear();
  }

  /** Nothing says when what was refused may be tried again. */
  #claimLater(): void {
    if (this.#hasStopped || this.#member.node.isGone) return;
    const { clock, leaseMs } = this.#session;
    this.#later ??= clock.after(leaseMs, () => {
      this.#later = undefined;
      this.claimSoon();
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
      // Other events report what has ended the member.
      if (!this.#hasStopped && !this.#member.node.isGone && !this.#session.ended.aborted) {
        this.#port.onError(error);
        this.#claimLater();
      }
    } finally {
      this.#claiming = undefined;
    }
  }

  async #claimOnce(): Promise<void> {
    const missing = this.#port.missing();
    const blocked = this.#blocked.keep(new Set(missing));
    const asked = new Set([...missing.filter((shard) => !blocked.has(shard)), ...this.#open.shards]);
    const doubted = this.#doubted;
    const others = [...doubted].filter((shard) => !asked.has(shard) && !this.#port.has(shard));
    if (asked.size + others.length === 0) return this.#await([]);
    const { node } = this.#member;
    if (!node.isHeld()) await node.renew(node.lost); // The member can't act for a shard without a lease.
    const all = await this.#records.read([...asked, ...others], node.lost);
    if (this.#doubted === doubted) this.#doubted = new Set(); // Else a connection was lost meanwhile.
    for (const each of all)
      if (this.#records.isOwn(each)) this.#isNamed(each);
      else this.#open.close(each.shard);
    const seen = all.filter(({ shard }) => asked.has(shard));
    this.#noteUnavailable([...asked], seen);
    const foreign = seen.filter((each) => !this.#records.isOwn(each));
    const buried = await this.#buried(foreign);
    const wanted = foreign.filter(({ shard }) => this.#port.isWanted(shard)); // By now.
    const isFree = ({ value }: SeenShard) =>
      value.state === 'vacant' || (value.state === 'held' && buried.has(value.node));
    this.#await(wanted.filter((each) => !isFree(each)));
    const free = wanted.filter(isFree);
    if (free.length > 0) await this.#claimFree(free);
  }

  async #claimFree(free: readonly SeenShard[]): Promise<void> {
    const failed = new Map<string, number>();
    let isRefused = false;
    // One transaction in a turn: each shard begins its work, and all of them at once would keep the event loop for too long.
    for await (const batch of batchesInTurns(this.#session.clock, free, MOST_PARTS)) {
      const wanted = batch.filter(({ shard }) => this.#port.isWanted(shard));
      for (const { shard, version } of wanted) this.#open.open(shard, version + 1);
      const claims = await this.#records.claim(wanted, {
        onRefused: (error) => {
          isRefused = true;
          this.#port.onError(error);
        },
        accompany: (claimed, commit) => this.#port.accompany(claimed, commit),
      });
      for (const [shard, claim] of claims) {
        this.#open.close(shard);
        this.#own(shard, claim);
      }
      for (const { shard, version } of wanted) if (!claims.has(shard)) failed.set(shard, version);
    }
    // A claim may fail once because another member was first, and then the record has another version. A server that has lost writes goes
    // on showing the one that the other servers refuse.
    const isRepeated = [...failed].some(([shard, version]) => this.#failedAt.get(shard) === version);
    this.#failedAt = failed;
    if (isRefused || isRepeated) this.#claimLater();
    else if (failed.size > 0) this.#isDue = true; // Others were first, or it isn't known.
  }

  #await(blocked: readonly SeenShard[]): void {
    if (!this.#hasStopped) this.#blocked.wait(blocked);
    this.#port.onAwaited([...this.#blocked.shards].filter((shard) => this.#port.isWanted(shard)));
  }

  /** Records that another client has deleted or written, or that the session may not read, are looked for again and again. */
  #noteUnavailable(asked: readonly string[], seen: readonly SeenShard[]): void {
    const unavailable = this.#unavailable.among(asked, seen);
    if (unavailable.length > 0) this.#claimLater();
    for (const shard of this.#unavailable.unreported(unavailable)) {
      const path = this.#session.absolute(this.#paths.recordOf(shard));
      this.#port.onError(
        new Error(
          `${path}, the record of shard ${shard}, is missing, or can't be read: no member can claim the shard. "conclave shards status" says what to do`,
        ),
      );
    }
  }

  /** Which of the owners have tombstones. */
  async #buried(seen: readonly SeenShard[]): Promise<ReadonlySet<string>> {
    const owners = new Set(seen.flatMap(({ value }) => (value.state === 'held' ? [value.node] : [])));
    const looked = await Promise.all(
      [...owners].map(async (owner) => {
        const look = () => this.#session.exists(this.#paths.tombstoneOf(owner));
        const stat = await this.#session.retryUntilAnswered(look, this.#member.node.lost);
        return stat === undefined ? [] : [owner];
      }),
    );
    return new Set(looked.flat());
  }

  /** A record names the member, which neither owns the shard nor is giving it back. */
  #isNamed(seen: SeenShard): void {
    const claim = this.#records.claimOf(seen);
    switch (this.#open.read(seen)) {
      case 'claimed':
        return this.#own(seen.shard, claim);
      case 'ended':
        if (!this.#member.node.isGone && !this.#port.has(seen.shard)) this.#port.giveBack(seen.shard, claim);
        return;
      case 'outdated':
        return this.#claimLater();
    }
  }

  #own(shard: string, claim: Claim): void {
    const { node } = this.#member;
    if (node.isGone) return;
    if (node.isHeld()) return this.#port.own(shard, claim);
    // It hung, and its lease is over: others may own the shard by now. The record shows it, behind the next heartbeat.
    this.#open.open(shard, claim.version);
    this.#isDue = true;
  }
}

/** The records that were missing or couldn't be read. Each is reported once, until it can be read. */
class UnavailableRecords {
  readonly #reported = new Set<string>();

  /** @returns those of the shards that were asked for whose records weren't seen, or can't be read */
  among(asked: readonly string[], seen: readonly SeenShard[]): string[] {
    const unavailable = new Set(asked);
    for (const { shard, value } of seen) {
      if (value.state === 'unreadable') continue;
      unavailable.delete(shard);
      this.#reported.delete(shard);
    }
    return [...unavailable];
  }

  /** Those that weren't reported yet. They are from now on. */
  unreported(shards: readonly string[]): string[] {
    const fresh = shards.filter((shard) => !this.#reported.has(shard));
    for (const shard of fresh) this.#reported.add(shard);
    return fresh;
  }
}
