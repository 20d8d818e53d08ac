import { parseRecord, type ReadRecord, serializeRecord } from '../../election/record/record.js';
import type { Claim } from '../../election/term/term.js';
import { BadVersionError, NodeExistsError, NoNodeError, ZooKeeperError } from '../../errors.js';
import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import { abortable, ignore } from '../../platform/async/promises.js';
import { inBatches } from '../../platform/collections/lists-and-sets.js';
import { sleep } from '../../platform/time/clock.js';
import type { Contender } from '../../queue/contender.js';
import { isUnanswered } from '../../session/operations.js';
import type { TransactionPart } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { type GroupPaths, nodeNameOf } from '../stored/paths.js';

const MOST_PARTS = 256; // Of a request: ZooKeeper takes 1 MB, and the longest records are some 700 bytes.
const NO_DATA = Buffer.alloc(0);
const LOOK_AGAIN_MS = 20; // While another member makes the records.

/** The record of a shard as it was read. */
export interface SeenRecord {
  readonly shard: string;
  readonly record: ReadRecord;
  readonly version: number;
  readonly zxid: bigint;
  /** The number of the connection that has shown it. */
  readonly connection: number | undefined;
}

/** Makes the records that are missing. @throws what a server refuses, the signal's reason, or what ended the session */
export async function createRecords(
  session: Session,
  paths: GroupPaths,
  shards: readonly string[],
  signal?: Abortable,
): Promise<void> {
  /** `false`: another member makes them too, or it isn't known. */
  const create = async (batch: readonly string[]): Promise<boolean> => {
    try {
      await session.commit(
        batch.map((shard) => ({ kind: 'create', path: paths.recordOf(shard), data: NO_DATA })),
      );
      return true;
    } catch (error) {
      if (error instanceof NodeExistsError || isUnanswered(error)) return false;
      throw error;
    }
  };
  for (;;) {
    const there = new Set(await session.retryUntilAnswered(() => session.getChildren(paths.records), signal));
    const missing = shards.filter((shard) => !there.has(nodeNameOf(shard)));
    if (missing.length === 0) return;
    const [first = [], ...others] = inBatches(missing, MOST_PARTS);
    // Of many members that begin together one makes the first of them, and the rest. The others look again.
    if (await create(first)) await Promise.all(others.map(create));
    else await sleep(session.clock, LOOK_AGAIN_MS, signal);
  }
}

/**
 * Carries out a transaction for these shards, with parts that another unit adds to it.
 * @param commit - called once more, with no parts, if those are refused
 */
type Accompany<Of> = <T>(
  shards: readonly Of[],
  commit: (parts: readonly TransactionPart[]) => Promise<T>,
) => Promise<T>;

/** What becomes of a claim: see {@link ShardRecords.claim}. */
export interface ClaimListener {
  /** A server refuses what isn't another member's claim: to be tried again later. */
  onRefused(error: ZooKeeperError): void;
  /** Of a claim that fits into one transaction. */
  readonly accompany: Accompany<SeenRecord>;
}

/**
 * The records, each request with as many as fit. Those that don't exist, or can't be read, are left out.
 * @param onRefused - called for each record that a server refuses to show. `readRecords` throws what it throws. @default does nothing
 * @throws the signal's reason, what ended the session, or a server's refusal of a whole request
 */
export async function readRecords(
  session: Session,
  paths: GroupPaths,
  shards: readonly string[],
  signal?: Abortable,
  onRefused: (refusal: ZooKeeperError) => void = ignore,
): Promise<SeenRecord[]> {
  const read = inBatches(shards, MOST_PARTS).map((batch) =>
    readBatch(session, paths, batch, signal, onRefused),
  );
  // One listener for all of them: an AbortSignal takes time with the square of their number.
  const all = signal === undefined ? Promise.all(read) : abortable(Promise.all(read), signal);
  return (await all).flat();
}

async function readBatch(
  session: Session,
  paths: GroupPaths,
  shards: readonly string[],
  signal: Abortable | undefined,
  onRefused: (refusal: ZooKeeperError) => void,
): Promise<SeenRecord[]> {
  let connection: number | undefined;
  const nodes = await session.retryUntilAnswered(() => {
    signal?.throwIfAborted();
    connection = session.connectionNumber;
    return session.getDataOfEach(shards.map((shard) => paths.recordOf(shard)));
  });
  return nodes.flatMap((node, at): SeenRecord[] => {
    if (node instanceof ZooKeeperError) {
      if (!(node instanceof NoNodeError)) onRefused(node);
      return [];
    }
    const { version, mzxid } = node.stat;
    const record = parseRecord(node.data, version);
    return [{ shard: shards[at] as string, record, version, zxid: mzxid, connection }];
  });
}

/** What becomes of a release: see {@link ShardRecords.release}. */
export interface ReleaseListener {
  /** Of a release that fits into one transaction. */
  readonly accompany: Accompany<Claim>;
  onCertain(claim: Claim): void;
  onRefused(error: ZooKeeperError): void;
  givesUp(): boolean;
}

/** Claims shards for one member, and gives them back: each a write of the shard's record at the version that was read. */
export class ShardRecords {
  readonly #session: Session;
  readonly #paths: GroupPaths;
  readonly #member: Contender;
  readonly #id: string;

  /** @param id - the member's name, for those who read the record */
  constructor(session: Session, paths: GroupPaths, member: Contender, id: string) {
    this.#session = session;
    this.#paths = paths;
    this.#member = member;
    this.#id = id;
  }

  /** See {@link readRecords}. */
  read(shards: readonly string[], signal: Abortable): Promise<SeenRecord[]> {
    return readRecords(this.#session, this.#paths, shards, signal);
  }

  /** Whether the record names this member. */
  isOwn({ record }: SeenRecord): boolean {
    return record.state === 'held' && record.node === this.#member.entry.node;
  }

  /** What this member has, if the record names it. */
  claimOf({ shard, record, version, zxid, connection }: SeenRecord): Claim {
    if (record.state !== 'held') throw new TypeError(`the record of shard ${shard} names no member`);
    return { ...this.#placeOf(shard), term: record.term, version, token: zxid, connection };
  }

  /**
   * Claims these shards, which were seen vacant, or held by members that have tombstones. Shards that are refused are left out, and the
   * rest is claimed. Shards that were seen over another connection are left out, too: in a restored backup the record may be at that
   * version by another member's claim.
   * @returns the claims, by shard. Shards that aren't among them are to be read again
   * @throws NodeLostError if the member's node is gone, what ended the session, or a server's refusal of them all
   */
  async claim(seen: readonly SeenRecord[], how: ClaimListener): Promise<Map<string, Claim>> {
    const all = inBatches(seen, MOST_PARTS);
    const claimed = await Promise.allSettled(
      all.map((batch) => this.#claimBatch(batch, accompaniedIfOne(all, how))),
    );
    const claims = new Map(claimed.flatMap((each) => (each.status === 'fulfilled' ? each.value : [])));
    // The claims of the other transactions stay.
    if (claims.size === 0) for (const each of claimed) if (each.status === 'rejected') throw each.reason;
    return claims;
  }

  async #claimBatch(
    batch: readonly SeenRecord[],
    { onRefused, accompany }: ClaimListener,
  ): Promise<[string, Claim][]> {
    const { session, node } = this.#member;
    const now = session.connectionNumber;
    let left = batch.filter(({ connection }) => connection !== undefined && connection === now);
    while (left.length > 0) {
      const tombstones = [...new Set(left.flatMap((each) => this.#tombstoneOf(each) ?? []))];
      const checks = tombstones.map((path): TransactionPart => ({ kind: 'check', path }));
      const writes = left.map((each) => this.#claimOne(each));
      try {
        const { zxid } = await accompany(left, (others) => node.commit([...checks, ...writes, ...others]));
        return left.map(({ shard, record, version }) => [
          shard,
          {
            ...this.#placeOf(shard),
            term: termOf(record) + 1,
            version: version + 1,
            token: zxid,
            connection: now,
          },
        ]);
      } catch (error) {
        if (isUnanswered(error)) {
          await node.renew(); // By then the servers have carried out the transaction, or never will.
          return [];
        }
        if (!(error instanceof ZooKeeperError)) throw error;
        const isRefused = (each: SeenRecord) =>
          [this.#paths.recordOf(each.shard), this.#tombstoneOf(each)].some(
            (path) => path !== undefined && session.absolute(path) === error.path,
          );
        if (!left.some(isRefused)) throw error;
        if (!isOutdated(error)) onRefused(error);
        left = left.filter((each) => !isRefused(each));
      }
    }
    return [];
  }

  #claimOne({ shard, record, version }: SeenRecord): TransactionPart {
    const { session, entry } = this.#member;
    const data = serializeRecord({
      state: 'held',
      term: termOf(record) + 1,
      id: this.#id,
      node: entry.node,
      leaseMs: session.leaseMs,
    });
    return { kind: 'set', path: this.#paths.recordOf(shard), data, version };
  }

  /** A shard that is held passes to another member by its owner's tombstone. */
  #tombstoneOf({ record }: SeenRecord): string | undefined {
    return record.state === 'held' ? this.#paths.tombstoneOf(record.node) : undefined;
  }

  #placeOf(shard: string) {
    return { record: this.#paths.recordOf(shard), node: this.#member.node.path };
  }

  /**
   * Gives these shards back: their records are vacant, unless they were written since they were claimed. Until that is certain, a write
   * that was sent may yet be carried out, so the shard mustn't be taken up again. Resolves when it is certain of all shards, when the
   * member's node is gone, when the session is over, or when the release is given up. It repeats what a server refuses.
   * @param how.onCertain - it is certain of this one
   * @param how.onRefused - a server refuses it: called each time
   * @param how.givesUp - whether what is refused isn't tried again
   * @throws what ended the session
   */
  async release(claims: readonly Claim[], how: ReleaseListener): Promise<void> {
    const all = inBatches(claims, MOST_PARTS);
    await Promise.all(all.map((batch) => this.#releaseBatch(batch, accompaniedIfOne(all, how))));
  }

  async #releaseBatch(batch: readonly Claim[], how: ReleaseListener): Promise<void> {
    const { session, node } = this.#member;
    let left = batch;
    const settle = (isCertain: (claim: Claim) => boolean) => {
      for (const claim of left.filter(isCertain)) how.onCertain(claim);
      left = left.filter((claim) => !isCertain(claim));
    };
    // In a restored backup another member may have the record at that version: over another connection it is read first.
    let shownOn = batch[0]?.connection;
    while (left.length > 0 && !node.isGone) {
      try {
        if (session.connectionNumber === undefined) await session.whenConnected();
        const now = session.connectionNumber;
        if (now !== shownOn || left.some(({ connection }) => connection !== now)) {
          const claimed = await Promise.all(left.map((claim) => this.#isClaimed(claim)));
          const isClaimed = new Map(left.map((claim, at) => [claim, claimed[at]]));
          settle((claim) => isClaimed.get(claim) !== true);
          shownOn = now;
          left = left.map((claim) => ({ ...claim, connection: now }));
          continue;
        }
        const writes = left.map(
          ({ record, term, version }): TransactionPart => ({
            ...{ kind: 'set', path: record, version },
            data: serializeRecord({ state: 'vacant', term }),
          }),
        );
        await how.accompany(left, (others) => session.commit([...writes, ...others]));
        settle(() => true);
      } catch (error) {
        shownOn = undefined; // It may have been carried out.
        if (isUnanswered(error)) continue;
        if (!(error instanceof ZooKeeperError)) throw error;
        const isIt = ({ record }: Claim) => session.absolute(record) === error.path;
        if (isOutdated(error) && left.some(isIt)) settle(isIt);
        else {
          how.onRefused(error);
          if (how.givesUp()) return;
          const [refused, others] = [left.filter(isIt), left.filter((claim) => !isIt(claim))];
          if (refused.length > 0 && others.length > 0)
            return void (await Promise.all([
              this.#releaseLater(refused, how),
              this.#releaseBatch(others, how),
            ]));
          return await this.#releaseLater(left, how);
        }
      }
    }
  }

  async #releaseLater(left: readonly Claim[], how: ReleaseListener): Promise<void> {
    const { session, node } = this.#member;
    await sleep(session.clock, session.leaseMs, node.lost).catch(ignore);
    await this.#releaseBatch(
      left.map((claim) => ({ ...claim, connection: undefined })),
      how,
    );
  }

  /** Whether the record is as the claim left it. */
  async #isClaimed({ record, version }: Claim): Promise<boolean> {
    try {
      const { data, stat } = await this.#session.getData(record);
      const found = parseRecord(data, stat.version);
      const isOwn = found.state === 'held' && found.node === this.#member.entry.node;
      return isOwn && stat.version === version;
    } catch (error) {
      if (error instanceof NoNodeError) return false;
      throw error;
    }
  }
}

/** The record was written, or the node that was to be there has gone. */
function isOutdated(error: ZooKeeperError): boolean {
  return error instanceof BadVersionError || error instanceof NoNodeError;
}

function termOf(record: ReadRecord): number {
  return record.state === 'unreadable' ? 0 : record.term;
}

/** Beside several transactions that are on their way at once, a write of its own has to say the outcome. */
function accompaniedIfOne<How extends { readonly accompany: Accompany<never> }>(
  all: readonly unknown[],
  how: How,
): How {
  return all.length === 1 ? how : { ...how, accompany: (_, commit) => commit([]) };
}
