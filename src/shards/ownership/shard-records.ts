import { parseRecord, type ReadRecord, serializeRecord } from '../../election/record/election-record.js';
import type { Claim } from '../../election/term/term.js';
import { NodeExistsError, NoNodeError, type ZooKeeperError } from '../../errors.js';
import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import { ignore } from '../../platform/async/promises.js';
import { batchesInTurns, sleep } from '../../platform/time/clock.js';
import type { Contender } from '../../queue/contender.js';
import { isUnanswered } from '../../session/operations.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import {
  MOST_PARTS,
  type RecordWrite,
  readEach,
  release,
  type Seen,
  type Sender,
  type SwapOutcome,
  swap,
} from '../../session/versioned-records.js';
import { type GroupPaths, nodeNameOf } from '../stored/group-paths.js';

const NO_DATA = Buffer.alloc(0);
const LOOK_AGAIN_MS = 20; // While another member makes the records.

/** The record of a shard as it was read. */
export interface SeenShard extends Seen<ReadRecord> {
  readonly shard: string;
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
    // Of many members that begin together one makes the first of them, and the rest. The others look again.
    for await (const batch of batchesInTurns(session.clock, missing, MOST_PARTS, signal)) {
      if (await create(batch)) continue;
      await sleep(session.clock, LOOK_AGAIN_MS, signal);
      break;
    }
  }
}

/** What a write of several records tells, and what goes with it. */
export interface WriteListener {
  /** A server refuses a record, for another reason than that it was written since. */
  onRefused(error: ZooKeeperError): void;
  /**
   * Carries out a transaction for these shards, with parts that another unit adds to it. Not called beside other transactions on their way.
   * @param commit - called once more, with no parts, if those are refused
   */
  accompany<T>(
    shards: readonly string[],
    commit: (parts: readonly TransactionPart[]) => Promise<T>,
  ): Promise<T>;
}

/** What becomes of a release: see {@link ShardRecords.release}. */
export interface ReleaseListener extends WriteListener {
  onCertain(shard: string): void;
  givesUp(): boolean;
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
): Promise<SeenShard[]> {
  const records = shards.map((shard) => paths.recordOf(shard));
  const read = await readEach(session, records, parseRecord, signal);
  const seen = read.flatMap((each, at): SeenShard[] => {
    if ('value' in each) return [{ ...each, shard: shards[at] as string }];
    if (!(each instanceof NoNodeError)) onRefused(each);
    return [];
  });
  // What the caller does with thousands of them takes a turn of the event loop of its own.
  if (seen.length > MOST_PARTS) await sleep(session.clock, 0, signal);
  return seen;
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
  read(shards: readonly string[], signal: Abortable): Promise<SeenShard[]> {
    return readRecords(this.#session, this.#paths, shards, signal);
  }

  /** Whether the record names this member. */
  isOwn({ value }: SeenShard): boolean {
    return this.#isOwn(value);
  }

  #isOwn(record: ReadRecord): boolean {
    return record.state === 'held' && record.node === this.#member.entry.node;
  }

  /** What this member has, if the record names it. */
  claimOf({ shard, value, version, zxid, connection }: SeenShard): Claim {
    if (value.state !== 'held') throw new TypeError(`the record of shard ${shard} names no member`);
    return this.#claimOf(shard, value.term, { version, zxid, connection });
  }

  #claimOf(shard: string, term: number, seen: Omit<Seen<unknown>, 'value'>): Claim {
    const { version, zxid: token, connection } = seen;
    return {
      record: this.#paths.recordOf(shard),
      node: this.#member.node.path,
      term,
      version,
      token,
      connection,
    };
  }

  /**
   * Claims these shards, which were seen vacant, or held by members that have tombstones. Those that are refused are left out, and those
   * that were seen over another connection.
   * @returns the claims, by shard. Shards that aren't among them are to be read again
   * @throws NodeLostError if the member's node is gone, or what ended the session
   */
  async claim(seen: readonly SeenShard[], how: WriteListener): Promise<Map<string, Claim>> {
    const { entry, session } = this.#member;
    const { leaseMs } = session;
    const changes = seen.map(({ shard, value, version, connection }): RecordWrite => {
      const held = { term: termOf(value) + 1, id: this.#id, node: entry.node, leaseMs };
      const data = serializeRecord({ state: 'held', ...held });
      const change = { path: this.#paths.recordOf(shard), data, version, connection };
      if (value.state !== 'held') return change;
      // It passes to another member by its owner's tombstone.
      return { ...change, parts: [{ kind: 'check', path: this.#paths.tombstoneOf(value.node) }] };
    });
    const outcomes = await swap(
      session,
      changes,
      this.#sender(
        seen.map(({ shard }) => shard),
        how,
      ),
    );
    const claims = new Map<string, Claim>();
    for (const { shard, value } of seen) {
      const outcome = outcomes.get(this.#paths.recordOf(shard));
      if (outcome?.kind === 'written') claims.set(shard, this.#claimOf(shard, termOf(value) + 1, outcome));
    }
    for (const error of refusalsIn(outcomes.values())) how.onRefused(error);
    return claims;
  }

  /** Together with what others write, unless that makes several transactions. They would not say the same. */
  #sender(shards: readonly string[], { accompany }: WriteListener): Sender {
    const { session, node } = this.#member;
    const byPath = new Map(shards.map((shard) => [this.#paths.recordOf(shard), shard]));
    return {
      commit: (parts, paths) =>
        shards.length > MOST_PARTS
          ? node.commit(parts)
          : accompany(
              paths.map((path) => byPath.get(path) as string),
              (others) => node.commit([...parts, ...others]),
            ),
      barrier: () => session.retryUntilAnswered(() => node.commit([]), node.lost),
    };
  }

  /**
   * Gives these shards back: their records are vacant, unless they were written since they were claimed. Until that is certain, a write
   * that was sent may yet be carried out, so the shard mustn't be taken up again. Resolves when it is certain of all shards, when the
   * member's node is gone, when the session is over, or when the release is given up. It repeats what a server refuses.
   * @param how.onCertain - it is certain of this one
   * @param how.onRefused - a server refuses it: called each time
   * @param how.givesUp - whether what is refused isn't tried again
   * @throws NodeLostError, or what ended the session
   */
  async release(claims: ReadonlyMap<string, Claim>, how: ReleaseListener): Promise<void> {
    const { session, node } = this.#member;
    const isOwn = (data: Buffer, version: number) => this.#isOwn(parseRecord(data, version));
    for (let left = [...claims]; left.length > 0 && !node.isGone; ) {
      const sender = this.#sender(
        left.map(([shard]) => shard),
        how,
      );
      const changes = left.map(([, { record: path, term, version, connection }]) => ({
        ...{ path, data: serializeRecord({ state: 'vacant', term }), version, connection },
      }));
      const outcomes = await release(session, changes, { ...sender, isOwn });
      const isRefused = ({ record }: Claim) => outcomes.get(record)?.kind === 'refused';
      for (const [shard, claim] of left) if (!isRefused(claim)) how.onCertain(shard);
      left = left.filter(([, claim]) => isRefused(claim));
      for (const error of refusalsIn(outcomes.values())) how.onRefused(error);
      if (left.length === 0 || how.givesUp()) return;
      await sleep(session.clock, session.leaseMs, node.lost).catch(ignore);
    }
  }
}

function termOf(record: ReadRecord): number {
  return record.state === 'unreadable' ? 0 : record.term;
}

/** The servers may have refused several changes for one reason. */
function refusalsIn(outcomes: Iterable<SwapOutcome>): ReadonlySet<ZooKeeperError> {
  return new Set([...outcomes].flatMap((each) => (each.kind === 'refused' ? [each.error] : [])));
}
