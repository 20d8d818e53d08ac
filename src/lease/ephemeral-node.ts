import { describe, NodeLostError, NoNodeError, ZooKeeperError } from '../errors.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { ignore, microtask } from '../platform/async/promises.js';
import { sleep } from '../platform/time/clock.js';
import type { HeartbeatNode } from '../session/connection/heartbeat.js';
import type { Reply } from '../session/connection/reply.js';
import { type NodeListener, NodeWatch } from '../session/node-watch.js';
import type { NodeData, PartResult, TransactionPart } from '../session/protocol/records.js';
import type { Session } from '../session/session.js';
import { Lease } from './lease.js';

/** A node's data at one of its versions: all that its holder keeps of what it read. */
export interface NodeContent {
  readonly data: Buffer;
  readonly version: number;
}

/**
 * An ephemeral node with this session as its `ephemeralOwner` (another session's node at this path isn't this one), and what
 * is known of it: until when it surely exists (its lease), and, as soon as any reply shows it, that it is gone.
 */
export class EphemeralNode implements HeartbeatNode, NodeListener {
  readonly path: string;
  /** The path with the chroot. */
  readonly absolutePath: string;
  readonly #session: Session;
  readonly #lease: Lease;
  readonly #lost = new LazyAbortController<Error>();
  /** Whether it is lost or released. */
  #hasEnded = false;
  #lastRead: NodeContent | undefined;
  #onRead: (content: NodeContent) => void = ignore;
  #onConfirmed: () => void = ignore;
  #watch: NodeWatch | undefined;

  /** @param sentAt - when the write that created it was sent, if that is known: the lease counts from then */
  static of(session: Session, path: string, sentAt?: number): EphemeralNode {
    return new EphemeralNode(session, path, sentAt);
  }

  private constructor(session: Session, path: string, sentAt?: number) {
    this.path = path;
    this.absolutePath = session.absolute(path);
    this.#session = session;
    this.#lease = new Lease(session);
    if (sentAt !== undefined) this.extendLease(sentAt);
    if (session.ended.aborted) this.handleEvent();
    else session.ended.addEventListener('abort', this);
  }

  /** @internal The session has ended. */
  handleEvent(): void {
    this.lose(this.#session.ended.reason as Error);
  }

  /** Aborts when the node is known to be gone, unless released before: with `NodeLostError`, or with what ended the session. */
  get lost(): LazyAbortController<Error> {
    return this.#lost;
  }

  /** {@link EphemeralNode.lost}, for callers that need an AbortSignal. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether the node is known to be gone: lost, or gone with its session. */
  get isGone(): boolean {
    return this.#lost.aborted || this.#session.ended.aborted;
  }

  /** How much of the lease is left, in milliseconds, also when the node is lost or released. */
  remainingMs(): number {
    return this.#lease.remainingMs();
  }

  /** See {@link Lease.remainingAtMostMs}: never for whether to act. */
  remainingAtMostMs(): number {
    return this.#lease.remainingAtMostMs();
  }

  /** Whether the node is neither lost nor released and its lease lasts, at this very moment. */
  isHeld(): boolean {
    return !this.#hasEnded && this.#lease.isHeld();
  }

  /** @internal A write that created or checked the node was sent at `sentAt` and committed. */
  extendLease(sentAt: number): void {
    if (this.#lost.aborted) return;
    this.#lease.confirmed(sentAt);
    this.#onConfirmed();
  }

  /** Calls `listener` whenever the lease may have been extended. */
  whenConfirmed(listener: () => void): void {
    this.#onConfirmed = listener;
  }

  /** Sends heartbeats for the node from now on, which extend its lease again and again. */
  keepAlive(): void {
    if (!this.#hasEnded) this.#session.heartbeat.add(this);
  }

  /** A heartbeat sent at `sentAt` found the node. The first begins a watch: a lock that was free is mostly released by then. */
  confirmed(sentAt: number): void {
    if (this.#hasEnded) return; // Released while the reply was on its way.
    this.extendLease(sentAt);
    this.watch();
  }

  /** A reply has shown that the node is gone. */
  gone(): void {
    const why = `${this.path} was deleted, by another client or because its session has expired`;
    this.#loseFor(() => new NodeLostError(why));
  }

  /** @internal The session may not read the node. No heartbeat can prove it: it counts as lost before its lease is over. */
  unreadable(cause: Error): void {
    if (this.#hasEnded) return;
    const why = `the session can't prove any more that ${this.absolutePath} is there (${describe(cause)}): it is given up. Its access list has to let the session read it; see who has changed that`;
    const error = new NodeLostError(why, { cause });
    this.#session.report(error, 'a node of this session can not be read');
    this.lose(error);
  }

  /**
   * Proves now that the node exists, and extends its lease. After a lost reply it is also a barrier, after which reads show
   * the outcome: a write sent before it, on any connection of this session, has been carried out or never will be.
   * @throws NodeLostError if the node is gone, what ended the session, or the signal's reason
   */
  async renew(signal?: Abortable): Promise<void> {
    try {
      const check = () => this.#session.commit([{ kind: 'check', path: this.path }]);
      const { sentAt } = await this.#session.retryUntilAnswered(check, signal);
      this.extendLease(sentAt);
    } catch (error) {
      if (error instanceof NoNodeError) this.gone();
      else throw error;
    }
    this.#lost.throwIfAborted();
  }

  /**
   * Writes `parts` in one transaction that is carried out only while the node exists, and extends its lease.
   * @param others - further nodes of this session that have to exist
   * @throws NodeLostError if one of the nodes is gone: nothing is written then; and what `Session.commit` throws
   */
  async commit(
    parts: readonly TransactionPart[],
    others: readonly EphemeralNode[] = [],
  ): Promise<Reply<PartResult[]>> {
    const guards = [this, ...others];
    for (const { lost } of guards) lost.throwIfAborted();
    try {
      const checks = guards.map(({ path }) => ({ kind: 'check', path }) as const);
      const reply = await this.#session.commit([...checks, ...parts]);
      for (const guard of guards) guard.extendLease(reply.sentAt);
      return { ...reply, value: reply.value.slice(guards.length) };
    } catch (error) {
      // The parts contain no other checks.
      if (!(error instanceof NoNodeError && error.operation === 'multi[check]')) throw error;
      const missing = guards.find((guard) => guard.absolutePath === error.path) ?? this;
      missing.gone();
      throw missing.lost.reason ?? new NodeLostError(`${missing.path} is gone`);
    }
  }

  /** Calls `listener` with the node's data, as soon as they are known and after each change. */
  whenRead(listener: (content: NodeContent) => void): void {
    this.#onRead = listener;
    this.watch();
    if (this.#lastRead !== undefined) listener(this.#lastRead);
  }

  /** The holder is about to delete the node, or has: no more heartbeats for it, and its end is no loss. */
  release(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#watch?.stop();
    // The next contender waits for the deletion, which the caller sends next: the rest follows while that is on its way.
    microtask(() => {
      this.#session.heartbeat.remove(this);
      this.#session.ended.removeEventListener('abort', this);
    });
  }

  /** The node is gone. The first reason counts. */
  lose(reason: Error): void {
    this.#loseFor(() => reason);
  }

  #loseFor(reason: () => Error): void {
    if (this.#hasEnded) return;
    this.release();
    this.#lost.abortFor(reason);
  }

  /** Watches the node from now on, if it isn't watched yet; else its first heartbeat would begin that. */
  watch(): void {
    if (!this.#hasEnded) this.#watch ??= new NodeWatch(this.#session, this.path, this);
  }

  /** @internal The node's data and stat, at first and after each change. */
  read({ data, stat }: NodeData): void {
    if (!this.#session.owns(stat)) this.lose(new NodeLostError(`${this.path} belongs to another session`));
    this.#lastRead = { data, version: stat.version };
    if (!this.#hasEnded) this.#onRead(this.#lastRead);
  }

  /** @internal The node can't be read any more. */
  failed(error: unknown): void {
    if (error instanceof ZooKeeperError) this.unreadable(error);
    else this.lose(error as Error);
  }
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Deletes a node of this session, and retries until it is gone or the session is over. The session reports the first
 * refusal: as long as the node stays, every contender behind it waits. Never rejects.
 */
export async function deleteForSure(session: Session, path: string): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await session.retryUntilAnswered(() => session.remove(path));
    } catch (error) {
      if (error instanceof NoNodeError || session.ended.aborted) return; // Gone already, or gone with the session.
      if (pauseMs === FIRST_PAUSE_MS) session.report(error as Error, 'a node can not be deleted: trying on');
      await sleep(session.clock, pauseMs, session.ended).catch(ignore); // Seen at the next try.
    }
  }
}
