import { describe, NodeLostError, NoNodeError, ZooKeeperError } from '../errors.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { ignore, microtask } from '../platform/async/promises.js';
import { sleep } from '../platform/time/clock.js';
import type { HeartbeatNode } from '../session/connection/heartbeat.js';
import type { Reply } from '../session/connection/reply.js';
import { type NodeListener, NodeWatch } from '../session/node-watch.js';
import type { NodeData, PartResult, Stat, TransactionPart } from '../session/protocol/records.js';
import type { Session } from '../session/session.js';
import { Lease } from './lease.js';

/** What a node says, as of one of its versions: as much of it as is of interest for as long as it is there. */
export interface NodeContent {
  readonly data: Buffer;
  readonly version: number;
}

/**
 * An ephemeral node of this session, and what is known of it: until when it surely exists (its lease), and that it
 * is gone, as soon as anything tells.
 *
 * Ours means present and with this session's id as its `ephemeralOwner`. A node of that path under another session
 * is not ours, whatever its name.
 */
export class EphemeralNode implements HeartbeatNode, NodeListener {
  readonly path: string;
  /** Its path with the chroot. */
  readonly absolutePath: string;
  readonly #session: Session;
  readonly #lease: Lease;
  readonly #lost = new LazyAbortController<Error>();
  /** Lost or released. */
  #isOver = false;
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
    if (sentAt !== undefined) this.confirm(sentAt);
    if (session.ended.aborted) this.handleEvent();
    else session.ended.addEventListener('abort', this);
  }

  /** @internal Its session is over. */
  handleEvent(): void {
    this.lose(this.#session.ended.reason as Error);
  }

  /**
   * Aborts when the node is known to be gone: with `NodeLostError`, or with what ended the session. Not when
   * {@link EphemeralNode.release} was called before.
   */
  get lost(): LazyAbortController<Error> {
    return this.#lost;
  }

  /** {@link EphemeralNode.lost}, for those who need a signal of the platform's. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether it is known to be gone: lost, or gone with its session. */
  get isGone(): boolean {
    return this.#lost.aborted || this.#session.ended.aborted;
  }

  /** How much of the last lease is left, in milliseconds, also when the node is lost or released. */
  remainingMs(): number {
    return this.#lease.remainingMs();
  }

  /** The same, or more where the machine was suspended just now: costs less. Never for whether to act. */
  remainingAtMostMs(): number {
    return this.#lease.remainingAtMostMs();
  }

  /** Whether the node is ours and its lease lasts, at this very moment. */
  isHeld(): boolean {
    return !this.#isOver && this.#lease.isHeld();
  }

  /** A write that checked the node, or created it, was sent at `sentAt` and committed. */
  confirm(sentAt: number): void {
    if (this.#lost.aborted) return;
    this.#lease.confirm(sentAt);
    this.#onConfirmed();
  }

  /** Calls `listener` whenever the lease may have got longer. */
  whenConfirmed(listener: () => void): void {
    this.#onConfirmed = listener;
  }

  /** Sends heartbeats for it from now on, so that its lease goes on and on. */
  keepAlive(): void {
    if (!this.#isOver) this.#session.heartbeat.add(this);
  }

  /** A heartbeat found it in place. From the first one on it is watched: a lock that is free is mostly held for less. */
  confirmed(sentAt: number): void {
    if (this.#isOver) return; // Given up while the answer was on its way.
    this.confirm(sentAt);
    this.watch();
  }

  /** It was seen to be gone. */
  gone(): void {
    this.#loseFor(
      () =>
        new NodeLostError(`${this.path} was deleted, by another client or because its session has expired`),
    );
  }

  /**
   * @internal A server says that this session may not read it. It is there, as far as is known; but no heartbeat can prove it, so
   * it is given up before its lease is over.
   */
  unreadable(cause: Error): void {
    if (this.#isOver) return;
    const why = `the session can't prove any more that ${this.absolutePath} is there (${describe(cause)}): it is given up. Its access list has to let the session read it; see who has changed that`;
    const error = new NodeLostError(why, { cause });
    this.#session.report(error, 'a node of this session can not be read');
    this.lose(error);
  }

  /**
   * Proves at once that the node is there, and begins a lease. After a lost reply it is also the barrier after which
   * reads tell the truth: whatever was sent before it, on any connection of this session, has happened or never will.
   *
   * @throws NodeLostError if it isn't there, what ended the session, or the signal's reason
   */
  async renew(signal?: Abortable): Promise<void> {
    try {
      const check = () => this.#session.commit([{ kind: 'check', path: this.path }]);
      const { sentAt } = await this.#session.retryUntilAnswered(check, signal);
      this.confirm(sentAt);
    } catch (error) {
      if (error instanceof NoNodeError) this.gone();
      else throw error;
    }
    this.#lost.throwIfAborted();
  }

  /**
   * Writes `parts` in one transaction that is carried out only while the node is there, and begins a lease if it was.
   *
   * @param beside - further nodes of this session that have to be there
   * @throws NodeLostError if one of the nodes isn't there: nothing is written then; and what `Session.commit` throws
   */
  async commit(
    parts: readonly TransactionPart[],
    beside: readonly EphemeralNode[] = [],
  ): Promise<Reply<PartResult[]>> {
    const guards = [this, ...beside];
    for (const { lost } of guards) lost.throwIfAborted();
    try {
      const checks = guards.map(({ path }) => ({ kind: 'check', path }) as const);
      const reply = await this.#session.commit([...checks, ...parts]);
      for (const guard of guards) guard.confirm(reply.sentAt);
      return { ...reply, value: reply.value.slice(guards.length) };
    } catch (error) {
      // There are no other checks among the parts.
      if (!(error instanceof NoNodeError && error.operation === 'multi[check]')) throw error;
      const missing = guards.find((guard) => guard.absolutePath === error.path) ?? this;
      missing.gone();
      throw missing.lost.reason ?? new NodeLostError(`${missing.path} is gone`);
    }
  }

  /** Calls `listener` with what the node says, as soon as that is known and whenever it has changed. */
  whenRead(listener: (content: NodeContent) => void): void {
    this.#onRead = listener;
    this.watch();
    if (this.#lastRead !== undefined) listener(this.#lastRead);
  }

  /** It is about to be deleted by us, or has been: no heartbeat any more, and its end is nobody's loss. */
  release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watch?.stop();
    // Others wait for the deletion, which is asked for next: the rest comes while that is on its way.
    microtask(() => {
      this.#session.heartbeat.remove(this);
      this.#session.ended.removeEventListener('abort', this);
    });
  }

  /** It is gone. The first reason counts. */
  lose(reason: Error): void {
    this.#loseFor(() => reason);
  }

  #loseFor(reason: () => Error): void {
    if (this.#isOver) return;
    this.release();
    this.#lost.abortFor(reason);
  }

  /** Watches it from now on; it would have been a little later. */
  watch(): void {
    if (!this.#isOver) this.#watch ??= new NodeWatch(this.#session, this.path, this);
  }

  /** @internal What it says now. */
  read({ data, stat }: NodeData): void {
    this.#checkOwner(stat);
    this.#lastRead = { data, version: stat.version };
    if (!this.#isOver) this.#onRead(this.#lastRead);
  }

  /** @internal It can't be read any more. */
  failed(error: unknown): void {
    if (error instanceof ZooKeeperError) this.unreadable(error);
    else this.lose(error as Error);
  }

  #checkOwner(stat: Stat): void {
    if (!this.#session.owns(stat)) this.lose(new NodeLostError(`${this.path} belongs to another session`));
  }
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Deletes a node of this session, and goes on trying until it is gone or the session is over. A refusal is reported by
 * the session, at the first time: as long as the node stays, everybody behind it waits. Never rejects.
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
