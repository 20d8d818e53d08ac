import { BadVersionError, NodeExistsError, NoNodeError, ZooKeeperError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { inBatches } from '../platform/collections/lists-and-sets.js';
import { batchesInTurns } from '../platform/time/clock.js';
import type { Reply } from './connection/reply.js';
import { ifThere, isUnanswered } from './operations.js';
import type { NodeData, PartResult, Stat, TransactionPart } from './protocol/multi-and-stats.js';
import type { Session } from './session.js';

// Of a request: ZooKeeper takes 1 MB, and the longest records are some 700 bytes.
export const MOST_PARTS = 256;

/**
 * Records that several processes write: each write depends on the version that its sender has seen, so for each version the servers carry
 * out one of them. Elections, shards, the guardian and the pins read and write their records here, and nowhere else.
 *
 * A version alone isn't enough. In a restored backup a record may have the same version by the write of another process. All servers stop
 * for a restore, so none comes between a reply and the next request on one connection. So a write goes out only over the connection that
 * has shown its record.
 */

/** A record as an answer has shown it. */
export interface Seen<T> {
  readonly value: T;
  readonly version: number;
  /** The transaction that wrote it. */
  readonly zxid: bigint;
  /** The number of the session's connection over which the answer came. */
  readonly connection: number;
}

/** A record's data at one of its versions. */
export interface Content {
  readonly data: Buffer;
  readonly version: number;
}

type Parse<T> = (data: Buffer, version: number) => T;

export function seenAs<T>({ data, stat }: NodeData, parse: Parse<T>, connection: number): Seen<T> {
  const { version, mzxid: zxid } = stat;
  return { value: parse(data, version), version, zxid, connection };
}

/** Asks until it is answered, and says over which connection. @throws what `ask` throws, or the signal's reason */
export async function answeredOver<T>(
  session: Session,
  ask: () => Promise<T>,
  signal?: Abortable,
): Promise<[answer: T, connection: number]> {
  let connection: number | undefined;
  const answer = await session.retryUntilAnswered(() => {
    connection = session.connectionNumber;
    return ask();
  }, signal);
  return [answer, connection as number]; // It was answered, so there was one.
}

/**
 * Reads records, each request as many as fit. In the place of one that it doesn't show, it returns the server's refusal: NoNodeError if
 * there is none.
 * @throws the signal's reason, what ended the session, or a server's refusal of a whole request
 */
export async function readEach<T>(
  session: Session,
  paths: readonly string[],
  parse: Parse<T>,
  signal?: Abortable,
): Promise<(Seen<T> | ZooKeeperError)[]> {
  const read: (Seen<T> | ZooKeeperError)[] = [];
  // One request after the other: thousands of records in one turn of the event loop would keep all else waiting.
  for await (const batch of batchesInTurns(session.clock, paths, MOST_PARTS, signal)) {
    const [nodes, connection] = await answeredOver(session, () => session.getDataOfEach(batch), signal);
    for (const node of nodes) read.push('stat' in node ? seenAs(node, parse, connection) : node);
  }
  return read;
}

/** A record that is to be written. */
export interface RecordWrite {
  readonly path: string;
  readonly data: Buffer;
  readonly version: number;
  /** Over which the record was seen at that version; `undefined` if it isn't known. */
  readonly connection: number | undefined;
  /** What is sent before it in the same transaction. Changes that have a part for the same node share that part. */
  readonly parts?: readonly TransactionPart[];
}

/** The parts of the transaction that makes these changes, the writes of the records last. */
export function partsOf(changes: readonly RecordWrite[]): TransactionPart[] {
  const others = new Map(changes.flatMap(({ parts = [] }) => parts.map((part) => [part.path, part])));
  const writes = changes.map(({ path, data, version }) => ({ kind: 'set', path, data, version }) as const);
  return [...others.values(), ...writes];
}

/** What came of a change. */
export type SwapOutcome =
  | ({ readonly kind: 'written' } & Omit<Seen<unknown>, 'value'>)
  /** The record, or a node of its other parts, isn't as it was seen. No error: it was seen over another connection, or a read shows it. */
  | { readonly kind: 'stale'; readonly error?: ZooKeeperError }
  | { readonly kind: 'refused'; readonly error: ZooKeeperError }
  /** The reply was lost. By now the servers have carried the change out, or never will: a read shows which. */
  | { readonly kind: 'unsure' };

/** How changes are sent, by the process that makes them. */
export interface Sender {
  /**
   * Sends these parts as one transaction, with others if need be.
   * @param paths - of the records that it writes
   * @returns a reply whose value begins with the results of these parts
   */
  commit(parts: readonly TransactionPart[], paths: readonly string[]): Promise<Reply<PartResult[]>>;
  /** Commits a write, and asks until it is answered. By then the servers have carried out the sender's earlier writes, or never will. */
  barrier(): Promise<unknown>;
}

/**
 * Writes records, each transaction as many as fit. It leaves out those that the servers refuse, and sends the others again.
 * @returns by path, what came of each change
 * @throws what ended the session, or any error of `commit` and `barrier` that isn't a server's
 */
export async function swap(
  session: Session,
  changes: readonly RecordWrite[],
  sender: Sender,
): Promise<Map<string, SwapOutcome>> {
  const batches = inBatches(changes, MOST_PARTS);
  const outcomes = await Promise.all(batches.map((batch) => swapBatch(session, batch, sender)));
  return new Map(outcomes.flatMap((each) => [...each]));
}

async function swapBatch(
  session: Session,
  changes: readonly RecordWrite[],
  { commit, barrier }: Sender,
): Promise<Map<string, SwapOutcome>> {
  const outcomes = new Map<string, SwapOutcome>(changes.map(({ path }) => [path, { kind: 'stale' }]));
  const connection = session.connectionNumber;
  let left = changes.filter((change) => change.connection === connection);
  while (left.length > 0 && connection !== undefined && session.connectionNumber === connection) {
    const parts = partsOf(left);
    const paths = left.map(({ path }) => path);
    try {
      const { value } = await commit(parts, paths);
      const written = value.slice(parts.length - left.length);
      for (const [at, path] of paths.entries()) {
        const { version, mzxid: zxid } = (written[at] as PartResult).stat as Stat;
        outcomes.set(path, { kind: 'written', version, zxid, connection });
      }
      return outcomes;
    } catch (error) {
      if (isUnanswered(error)) {
        await barrier();
        for (const path of paths) outcomes.set(path, { kind: 'unsure' });
        return outcomes;
      }
      if (!(error instanceof ZooKeeperError)) throw error;
      const isIt = ({ path, parts = [] }: RecordWrite) =>
        [path, ...parts.map((part) => part.path)].some((each) => session.absolute(each) === error.path);
      const isOfOthers = !left.some(isIt);
      const kind = isOutdated(error) && !isOfOthers ? 'stale' : 'refused';
      for (const each of left) if (isOfOthers || isIt(each)) outcomes.set(each.path, { kind, error });
      left = isOfOthers ? [] : left.filter((each) => !isIt(each));
    }
  }
  return outcomes;
}

/**
 * Gives records back that this process holds: as {@link swap}, until the servers have answered for each. Never writes a record that isn't
 * as it was claimed. Over another connection than the claim's, or after a lost reply, it reads the record behind a barrier first: what was
 * sent before may yet be carried out without it, and a server that is behind may show an older record.
 * @param isOwn - whether a record with these data is held by this process
 * @throws as {@link swap} and {@link readEach} do
 */
export async function release(
  session: Session,
  changes: readonly RecordWrite[],
  { isOwn, ...sender }: Sender & { readonly isOwn: Parse<boolean> },
): Promise<Map<string, Exclude<SwapOutcome, { kind: 'unsure' }>>> {
  const outcomes = new Map<string, Exclude<SwapOutcome, { kind: 'unsure' }>>();
  for (let left = changes; left.length > 0; ) {
    const now = session.connectionNumber;
    // Also without a connection: the barrier waits for one.
    if (left.some(({ connection }) => connection === undefined || connection !== now)) {
      await sender.barrier();
      const paths = left.map(({ path }) => path);
      const seen = await readEach(session, paths, isOwn);
      left = left.flatMap((change, at): RecordWrite[] => {
        const found = seen[at] as Seen<boolean> | ZooKeeperError;
        const isRefused = found instanceof ZooKeeperError;
        if (!isRefused && found.value && found.version === change.version)
          return [{ ...change, connection: found.connection }];
        const isGone = !isRefused || isOutdated(found);
        outcomes.set(change.path, isGone ? { kind: 'stale' } : { kind: 'refused', error: found });
        return [];
      });
    }
    const swapped = await swap(session, left, sender);
    const again = new Set<string>();
    for (const [path, outcome] of swapped) {
      const isOpen = outcome.kind === 'unsure' || (outcome.kind === 'stale' && outcome.error === undefined);
      if (isOpen)
        again.add(path); // Its reply was lost, or its connection before it was sent.
      else outcomes.set(path, outcome);
    }
    left = left.filter(({ path }) => again.has(path)).map((change) => ({ ...change, connection: undefined }));
  }
  return outcomes;
}

/**
 * Changes a record that no process holds: reads it, and writes what `next` makes of it. If another client wrote it meanwhile, or the reply was
 * lost, it reads again.
 * @param next - gets the record, `undefined` if there is none. Returns the data to write, or nothing to leave the record as it is
 * @returns the record as `next` has seen it last, or as it was written
 * @throws what `next` throws, the signal's reason, what ended the session, or a server's refusal
 */
export async function update(
  session: Session,
  path: string,
  next: (found: Content | undefined) => Promise<Buffer | undefined>,
  signal?: Abortable,
): Promise<Content | undefined> {
  for (;;) {
    const found = await ifThere(session.retryUntilAnswered(() => session.getData(path), signal));
    const before = found && { data: found.data, version: found.stat.version };
    const data = await next(before);
    if (data === undefined) return before;
    try {
      if (before === undefined) await session.create(path, { data });
      else await session.setData(path, data, before.version);
      return { data, version: before === undefined ? 0 : before.version + 1 };
    } catch (error) {
      if (!isOutdated(error) && !isUnanswered(error)) throw error;
    }
  }
}

/** Whether a write was refused because a node isn't as its sender has seen it. */
export function isOutdated(error: unknown): boolean {
  return [BadVersionError, NoNodeError, NodeExistsError].some((each) => error instanceof each);
}
