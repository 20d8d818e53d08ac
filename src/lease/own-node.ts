import { BadVersionError, describe, NodeLostError, NoNodeError, ZooKeeperError } from '../errors.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort-controller.js';
import { ignore, microtask } from '../platform/async/promises.js';
import {
  forEachOf,
  type SmallSet,
  withMember,
  withoutMember,
} from '../platform/collections/lists-and-sets.js';
import { type LeaseInstant, sleep } from '../platform/time/clock.js';
import type { Reply } from '../session/connection/reply.js';
import type { ProvenNode } from '../session/keep-alive/heartbeat-batch.js';
import { type NodeListener, NodeWatch } from '../session/node-watch.js';
import type { NodeData, PartResult, TransactionPart } from '../session/protocol/multi-and-stats.js';
import type { Session } from '../session/session.js';
import type { HeartbeatNode } from './heartbeat-node.js';
import { Lease } from './lease.js';
import { SharedLease } from './shared-lease.js';

/** A node's data at one of its versions. Its holder keeps nothing else of its reads. */
export type NodeContent = Readonly<Pick<NodeData, 'data'> & Pick<NodeData['stat'], 'version'>>;

/** What is held by a node. */
export interface NodeHolder {
  /** The lease of the node has become shorter, by the grant of a server. */
  leaseShortened(): void;
}

/**
 * An ephemeral node of this session: the session is its `ephemeralOwner`, and another session's node at the path is another node.
 * It knows until when the node surely exists (its lease), and that the node is gone as soon as any reply shows that. With which writes a
 * lease begins is the difference between a {@link LockNode} and a {@link NodeWithHeartbeat}.
 */
export abstract class OwnNode implements ProvenNode, NodeListener {
  /** The heartbeat node, if there is one. */
  abstract readonly raised: HeartbeatNode | undefined;
  readonly path: string;
  /** The path with the chroot. */
  readonly absolutePath: string;
  protected readonly session: Session;
  #lease: Lease;
  readonly #lost = new LazyAbortController<Error>();
  /** Whether the node is lost or released. */
  #hasEnded = false;
  #lastRead: NodeContent | undefined;
  #onRead: (content: NodeContent) => void = ignore;
  #onChanging: () => void = ignore;
  #onConfirmed: SmallSet<() => void>;
  #watch: NodeWatch | undefined;
  /** While there are some, a thread that holds the session's connection may send the node's heartbeats and extend its lease. */
  #holders: SmallSet<NodeHolder>;
  /** The lease as other threads see it, from the first time that one may. */
  #shared: SharedLease | undefined;
  #mayBeRepeated = true;
  /** A copy of that for a thread that was started before. */
  #copy: SharedLease | undefined;

  protected constructor(session: Session, path: string) {
    this.path = path;
    this.absolutePath = session.absolute(path);
    this.session = session;
    this.#lease = new Lease(session);
    if (session.ended.aborted) this.handleEvent();
    else session.ended.addEventListener('abort', this);
  }

  /** @internal The session has ended. */
  handleEvent(): void {
    this.lose(this.session.ended.reason as Error);
  }

  /**
   * Aborts when the node is known to be gone, unless it was released before: with `NodeLostError`, or with the error that ended
   * the session.
   */
  get lost(): LazyAbortController<Error> {
    return this.#lost;
  }

  /** {@link OwnNode.lost}, for callers that need an AbortSignal. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether the node is known to be gone, with or without its session. */
  get isGone(): boolean {
    return this.#lost.aborted || this.session.ended.aborted;
  }

  /** How much of the lease is left, in milliseconds, even if the node is lost or released. */
  remainingMs(): number {
    const extended = this.#extendedByThread;
    return extended === undefined ? this.#lease.remainingMs() : Math.max(0, extended.leftMs());
  }

  /** See {@link Lease.remainingAtMostMs}. Never decide by it whether to act. */
  remainingAtMostMs(): number {
    return this.#lease.remainingAtMostMs() || this.remainingMs(); // As in isHeld: the other thread only adds to them.
  }

  /** How long a lease lasts now, in milliseconds. */
  get leaseMs(): number {
    return this.session.leaseMs;
  }

  /** See {@link Lease.proofAgeMs}. */
  proofAgeMs(): number {
    return this.#extendedByThread?.ageMs() ?? this.#lease.proofAgeMs();
  }

  /** Whether, at this very moment, the lease lasts and the node is neither lost nor released. */
  isHeld(): boolean {
    if (this.#hasEnded) return false;
    // This thread's own proofs mostly suffice, and asking them costs less. The other thread only adds to them.
    return this.#lease.isHeld() || (this.#extendedByThread?.leftMs() ?? 0) > 0;
  }

  /** @internal See {@link ProvenNode.extendedByThread}. */
  get extendedByThread(): readonly SharedArrayBuffer[] {
    if (this.#holders === undefined || !this.isRepeated) return [];
    return [this.#shared, this.#copy].flatMap((lease) => lease?.memory ?? []);
  }

  get #extendedByThread(): SharedLease | undefined {
    return this.isRepeated ? this.#shared : undefined;
  }

  /** Whether a thread repeats the node's heartbeats while something is held by it. */
  get isRepeated(): boolean {
    return this.#mayBeRepeated && this.session.isRepeated;
  }

  /** What will be held by the node needs no heartbeats while this thread stands still. To be called before anything is held. */
  neverRepeat(): void {
    this.#mayBeRepeated = false;
  }

  /** Something is held by the node, until {@link letGo} or the release of the node. */
  hold(holder: NodeHolder): void {
    if (this.#hasEnded) return;
    const isFirst = this.#holders === undefined;
    this.#holders = withMember(this.#holders, holder);
    if (!isFirst || !this.isRepeated) return;
    this.shareLease();
    this.session.keepAlive.heldByChanged(this);
  }

  /** The holder no longer holds anything, and its work has settled. */
  letGo(holder: NodeHolder): void {
    if (this.#hasEnded || this.#holders === undefined) return;
    this.#holders = withoutMember(this.#holders, holder);
    if (this.#holders === undefined && this.isRepeated) this.session.keepAlive.heldByChanged(this);
  }

  /** The lease in memory that other threads read. From the first call on each proof extends it. @throws InvalidStateError if threads share no clock */
  shareLease(): SharedLease {
    if (this.#shared !== undefined) return this.#shared;
    const shared = new SharedLease(undefined, this.session.clock.sources);
    this.#show(shared);
    this.#shared = shared;
    return shared;
  }

  /** Shows the lease in `copy`, too, from now on. */
  copyLeaseTo(copy: SharedLease): void {
    this.#show(copy);
    this.#copy = copy;
    if (this.isRepeated) this.session.keepAlive.heldByChanged(this);
  }

  #show(lease: SharedLease): void {
    lease.lasts(this.leaseMs);
    lease.provedAgo(() => this.proofAgeMs());
  }

  /** @internal See {@link ProvenNode.leaseShortened}. */
  leaseShortened(): void {
    for (const lease of [this.#shared, this.#copy]) lease?.lasts(this.leaseMs);
    forEachOf(this.#holders, (holder) => holder.leaseShortened());
  }

  /** A write with which a lease begins was sent at `sentAt` and committed. */
  protected extendLease(sentAt: LeaseInstant): void {
    if (this.#lost.aborted) return;
    this.#lease.confirmed(sentAt);
    this.#shared?.provedAgo(() => this.#lease.proofAgeMs());
    this.#copy?.provedAgo(() => this.#lease.proofAgeMs());
    forEachOf(this.#onConfirmed, (listener) => listener());
  }

  /** Calls `listener` whenever the lease may have been extended, until the returned function is called. */
  whenConfirmed(listener: () => void): () => void {
    this.#onConfirmed = withMember(this.#onConfirmed, listener);
    return () => {
      this.#onConfirmed = withoutMember(this.#onConfirmed, listener);
    };
  }

  /** From now on sends heartbeats for the node, which extend its lease again and again. */
  keepAlive(): void {
    const { keepAlive } = this.session;
    if (!this.#hasEnded && !keepAlive.has(this)) keepAlive.add(this);
  }

  /**
   * A heartbeat sent at `sentAt` found the node. The first one begins a watch: a holder of a lock that was free has mostly
   * released it by then, and needs none.
   */
  confirmed(sentAt: LeaseInstant): void {
    if (this.#hasEnded) return; // The node was released while the reply was on its way.
    this.extendLease(sentAt);
    this.watch();
  }

  /** A reply has shown that the node is gone. */
  gone(): void {
    const why = `${this.path} was deleted, by another client or because its session has expired`;
    this.#loseFor(() => new NodeLostError(why));
  }

  /** @internal The session may not read the node, so no heartbeat can prove it. The node counts as lost before its lease is over. */
  unreadable(cause: Error): void {
    if (this.#hasEnded) return;
    const why = `the session can no longer prove that ${this.absolutePath} exists (${describe(cause)}), so it gives the node up. The access list of the node has to let the session read it: find out who changed the list`;
    this.giveUp(new NodeLostError(why, { cause }));
  }

  /** The node may still be there, but nothing can prove it. The session reports a refusal, which an operator has caused. */
  protected giveUp(error: NodeLostError): void {
    if (this.#hasEnded) return;
    if (isRefusal(error))
      this.session.report(error, "the servers refuse this session's heartbeats for a node");
    this.lose(error);
  }

  /** No lease that has begun counts any more. */
  protected dropLease(): void {
    this.#lease = new Lease(this.session);
    this.#shared = undefined;
  }

  /**
   * Writes now what a heartbeat writes, and extends the lease. After a lost reply it is a barrier, too: the servers have carried out a
   * write that was sent before it, over any connection of this session, or never will.
   * @throws NodeLostError if the node is gone, the error that ended the session, or the signal's reason
   */
  async renew(signal?: Abortable): Promise<void> {
    await this.session.retryUntilAnswered(() => this.prove(), signal);
  }

  /** One write of {@link renew}. */
  protected abstract prove(): Promise<unknown>;

  /** A write of {@link commit} that was sent at `sentAt` found the node. */
  protected abstract found(sentAt: LeaseInstant): void;

  /**
   * Writes `parts` in one transaction, which the servers carry out only while the node exists.
   * @param others - further nodes of this session that have to exist
   * @throws NodeLostError if one of the nodes is gone; then nothing is written
   * @throws the errors of `Session.commit`
   */
  async commit(
    parts: readonly TransactionPart[],
    others: readonly OwnNode[] = [],
  ): Promise<Reply<PartResult[]>> {
    const guards = [this, ...others];
    const reply = await this.commitGuarded(parts, guards);
    for (const guard of guards) guard.found(reply.sentAt);
    return reply;
  }

  /** The parts of a transaction that delete the node and its heartbeat node, the node first. */
  get deletions(): TransactionPart[] {
    return [{ kind: 'delete', path: this.path }, ...(this.raised?.deletion ?? [])];
  }

  /** As {@link commit}, without an effect on leases. */
  protected async commitGuarded(
    parts: readonly TransactionPart[],
    guards: readonly OwnNode[] = [this],
  ): Promise<Reply<PartResult[]>> {
    for (const { lost } of guards) lost.throwIfAborted();
    try {
      const checks = guards.map(({ path }) => ({ kind: 'check', path }) as const);
      const reply = await this.session.commit([...checks, ...parts]);
      return { ...reply, value: reply.value.slice(checks.length) };
    } catch (error) {
      if (!(error instanceof NoNodeError && error.operation === 'multi[check]')) throw error;
      const missing = guards.find((guard) => guard.absolutePath === error.path);
      if (missing === undefined) throw error; // It is about a node of another session, which the parts check.
      throw missing.#goneError();
    }
  }

  #goneError(): Error {
    this.gone();
    return this.#lost.reason ?? new NodeLostError(`${this.path} is gone`);
  }

  /**
   * Calls `listener` with the node's data, as soon as they are known and after each change.
   * @param onChanging - called when the node has changed, before it is read
   */
  whenRead(listener: (content: NodeContent) => void, onChanging = ignore): void {
    this.#onRead = listener;
    this.#onChanging = onChanging;
    this.watch();
    if (this.#lastRead !== undefined) listener(this.#lastRead);
  }

  /** The holder is about to delete the node, or has deleted it. The heartbeats end, and the end of the node isn't a loss. */
  release(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    // Now, because a thread must not send a heartbeat behind the write that the caller sends next.
    if (this.#holders !== undefined && this.isRepeated) this.session.keepAlive.remove(this);
    this.#watch?.stop();
    // The next contender waits for the deletion, which the caller sends next. The rest follows while the deletion is on its way.
    microtask(() => {
      this.session.keepAlive.remove(this);
      this.session.ended.removeEventListener('abort', this);
    });
  }

  /**
   * Deletes the node and its heartbeat node, and retries until both are gone or the session is over. The session reports the
   * first refusal, because every contender behind the node waits as long as it stays. Never rejects.
   */
  async deleteForSure(): Promise<void> {
    const paths = this.deletions.map(({ path }) => path);
    await Promise.all(paths.map((path) => deleteForSure(this.session, path)));
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

  /** Watches the node from now on, if it isn't watched yet. Without this call the first heartbeat begins the watch. */
  watch(): void {
    if (!this.#hasEnded) this.#watch ??= new NodeWatch(this.session, this.path, this);
  }

  /** @internal */
  changing(): void {
    if (!this.#hasEnded) this.#onChanging();
  }

  /** @internal The node's data and stat, first after the watch began and then after each change. */
  read({ data, stat }: NodeData): void {
    if (!this.session.owns(stat)) this.lose(new NodeLostError(`${this.path} belongs to another session`));
    this.#lastRead = { data, version: stat.version };
    if (!this.#hasEnded) this.#onRead(this.#lastRead);
  }

  /** @internal The node can no longer be read. */
  failed(error: unknown): void {
    if (error instanceof ZooKeeperError) this.unreadable(error);
    else this.lose(error as Error);
  }
}

/** Whether the loss of a node is a refusal of the servers, as by an access list: no client has deleted the node. */
export function isRefusal(lost: unknown): boolean {
  if (!(lost instanceof NodeLostError)) return false;
  const { cause } = lost;
  return (
    cause instanceof ZooKeeperError && !(cause instanceof NoNodeError || cause instanceof BadVersionError)
  );
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Deletes a node of this session, and retries until it is gone or the session is over. The session reports the first
 * refusal. Never rejects.
 */
export async function deleteForSure(session: Session, path: string): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await session.retryUntilAnswered(() => session.remove(path));
    } catch (error) {
      if (error instanceof NoNodeError || session.ended.aborted) return; // The node was gone, or has gone with the session.
      if (pauseMs === FIRST_PAUSE_MS)
        session.report(error as Error, "a node can't be deleted: still retrying");
      await sleep(session.clock, pauseMs, session.ended).catch(ignore); // The next try sees the session's end.
    }
  }
}

/** A node without a heartbeat node, as of a lock: no other session waits for its lease. So a lease begins with any write that found the node. */
export class LockNode extends OwnNode {
  readonly raised = undefined;

  /** @param sentAt - when the write that created the node was sent, if known */
  static of(session: Session, path: string, sentAt?: LeaseInstant): LockNode {
    const node = new LockNode(session, path);
    if (sentAt !== undefined) node.extendLease(sentAt);
    return node;
  }

  protected prove(): Promise<unknown> {
    return this.commit([]);
  }

  protected found(sentAt: LeaseInstant): void {
    this.extendLease(sentAt);
  }
}
