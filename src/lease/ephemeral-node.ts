// Longer than 350 lines: 389; the lease, the watch and the heartbeats of one node begin and end together.
import { describe, NodeLostError, NoNodeError, ZooKeeperError } from '../errors.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { ignore, microtask } from '../platform/async/promises.js';
import type { LeaseInstant } from '../platform/time/clock.js';
import type { ProvenNode } from '../session/connection/heartbeat-batch.js';
import type { Reply } from '../session/connection/reply.js';
import { type NodeListener, NodeWatch } from '../session/node-watch.js';
import type { NodeData, PartResult, TransactionPart } from '../session/protocol/records.js';
import type { Session } from '../session/session.js';
import { deleteForSure } from './delete-for-sure.js';
import {
  type CommitParts,
  HeartbeatVersion,
  type HeartbeatVersionOwner,
  isAbout,
} from './heartbeat-version.js';
import { Lease } from './lease.js';

/** A node's data at one of its versions. Its holder keeps nothing else of its reads. */
export type NodeContent = Readonly<Pick<NodeData, 'data'> & Pick<NodeData['stat'], 'version'>>;

/**
 * An ephemeral node of this session: the session is its `ephemeralOwner`, and another session's node at the path is another node.
 * It knows until when the node surely exists (its lease), and that the node is gone as soon as any reply shows that.
 */
export class EphemeralNode implements ProvenNode, NodeListener, HeartbeatVersionOwner {
  readonly path: string;
  /** The path with the chroot. */
  readonly absolutePath: string;
  readonly #session: Session;
  readonly #lease: Lease;
  readonly #lost = new LazyAbortController<Error>();
  /** Whether the node is lost or released. */
  #hasEnded = false;
  #lastRead: NodeContent | undefined;
  #onRead: (content: NodeContent) => void = ignore;
  #onChanging: () => void = ignore;
  #onConfirmed: () => void = ignore;
  #watch: NodeWatch | undefined;
  /** Gives the path of the node whose version the heartbeats are to raise; `undefined` if they raise none. */
  #heartbeatPathOf: ((path: string) => string) | undefined;
  #raised: HeartbeatVersion | undefined;
  #mustRaise = false;

  /** @param sentAt - when the write that created the node was sent, if known. The lease counts from then */
  static of(session: Session, path: string, sentAt?: LeaseInstant): EphemeralNode {
    return new EphemeralNode(session, path, sentAt);
  }

  private constructor(session: Session, path: string, sentAt?: LeaseInstant) {
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

  /**
   * Aborts when the node is known to be gone, unless it was released before: with `NodeLostError`, or with the error that ended
   * the session.
   */
  get lost(): LazyAbortController<Error> {
    return this.#lost;
  }

  /** {@link EphemeralNode.lost}, for callers that need an AbortSignal. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether the node is known to be gone, with or without its session. */
  get isGone(): boolean {
    return this.#lost.aborted || this.#session.ended.aborted;
  }

  /** How much of the lease is left, in milliseconds, even if the node is lost or released. */
  remainingMs(): number {
    return this.#lease.remainingMs();
  }

  /** See {@link Lease.remainingAtMostMs}. Never decide by it whether to act. */
  remainingAtMostMs(): number {
    return this.#lease.remainingAtMostMs();
  }

  /** How long a lease lasts now, in milliseconds. */
  get leaseMs(): number {
    return this.#session.leaseMs;
  }

  /** See {@link Lease.proofAgeMs}. */
  proofAgeMs(): number {
    return this.#lease.proofAgeMs();
  }

  /** Whether, at this very moment, the lease lasts and the node is neither lost nor released. */
  isHeld(): boolean {
    return !this.#hasEnded && this.#lease.isHeld();
  }

  /** @internal A write that created or checked the node was sent at `sentAt` and committed. */
  extendLease(sentAt: LeaseInstant): void {
    if (this.#lost.aborted) return;
    this.#lease.confirmed(sentAt);
    this.#onConfirmed();
  }

  /** Calls `listener` whenever the lease may have been extended. */
  whenConfirmed(listener: () => void): void {
    this.#onConfirmed = listener;
  }

  /**
   * Makes the heartbeats raise the version of the node at that path. Call it before {@link keepAlive}. From then on only such a
   * heartbeat or a claim extends the lease. If a session has very many such nodes, the heartbeats of the further ones are checks.
   */
  raiseVersionAt(heartbeatPathOf: (path: string) => string): void {
    this.#heartbeatPathOf = heartbeatPathOf;
  }

  /** The version that the heartbeats raise; `undefined` before they begin, and if they are checks. */
  get raised(): HeartbeatVersion | undefined {
    return this.#raised;
  }

  /** From now on sends heartbeats for the node, which extend its lease again and again. */
  keepAlive(): void {
    const { heartbeat } = this.#session;
    if (this.#hasEnded || heartbeat.has(this)) return;
    this.decideHeartbeats();
    heartbeat.add(this);
  }

  /**
   * Decides now whether the heartbeats raise a version, and takes the room for that. Otherwise {@link keepAlive} does so. If there was
   * no room, a further call looks again. Call it only right before a claim: the lease has to begin with that.
   */
  decideHeartbeats(): void {
    const path = this.#heartbeatPathOf?.(this.path);
    if (this.#raised !== undefined || path === undefined) return;
    const { heartbeat } = this.#session;
    if (!heartbeat.hasRoomToRaise()) return heartbeat.noteNoRoom();
    this.#raised = new HeartbeatVersion(path, this.#session.absolute(path), this);
    heartbeat.takeRoom(this);
    heartbeat.changed();
  }

  /** @internal */
  onChanged(): void {
    this.#session.heartbeat.changed();
  }

  /** From now on the node is lost if its heartbeats can't raise a version. `false` if it is known already that they can't. */
  raiseOrLose(): boolean {
    this.#mustRaise = this.#raised !== undefined;
    return this.#mustRaise;
  }

  /** @internal */
  onUnavailable(cause: Error): void {
    if (this.#mustRaise) return this.onUnprovable("its heartbeat node can't be created", cause);
    this.#raised = undefined;
    this.#heartbeatPathOf = undefined; // A further claim would be refused as well.
    this.#session.logger.warn(
      { path: this.absolutePath, cause: describe(cause) },
      'no heartbeat node can be created: a leader can be replaced only when its session has ended',
    );
  }

  /** @internal */
  onUnprovable(why: string, cause?: Error): void {
    this.lose(new NodeLostError(`${this.path} is given up: ${why}`, { cause }));
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

  /**
   * @internal The session may not read the node, so no heartbeat can prove it. The node counts as lost before its lease is over.
   */
  unreadable(cause: Error): void {
    if (this.#hasEnded) return;
    const why = `the session can no longer prove that ${this.absolutePath} exists (${describe(cause)}), so it gives the node up. The access list of the node has to let the session read it: find out who changed the list`;
    const error = new NodeLostError(why, { cause });
    this.#session.report(error, "a node of this session can't be read");
    this.lose(error);
  }

  /**
   * Proves now that the node exists, as a heartbeat does, and extends its lease. After a lost reply it is a barrier, too: the
   * servers have carried out a write that was sent before it, over any connection of this session, or never will. While it isn't
   * known whether a claim has created the heartbeat node, it is only a barrier, and doesn't extend the lease.
   * @throws NodeLostError if the node is gone, the error that ended the session, or the signal's reason
   */
  async renew(signal?: Abortable): Promise<void> {
    for (let isProven = false; !isProven && !this.#lost.aborted; ) isProven = await this.#prove(signal);
    this.#lost.throwIfAborted();
  }

  /** `false` if the heartbeat node was there already, can't be created, or was created anew. Then no lease has begun. */
  async #prove(signal?: Abortable): Promise<boolean> {
    const raised = this.#raised;
    let proof: TransactionPart | undefined;
    const prove = () => {
      proof = raised?.nextProof(); // After a lost reply, the next proof is another write.
      return this.#session.commit([this.#check, ...(proof === undefined ? [] : [proof])]);
    };
    try {
      const { sentAt, value, zxid } = await this.#session.retryUntilAnswered(prove, signal);
      if (raised !== undefined && proof === undefined) return true; // A barrier alone.
      if (raised?.written(value[1] as PartResult, zxid) === false) return false;
      this.extendLease(sentAt);
      return true;
    } catch (error) {
      if (proof === undefined || !isAbout(error, proof))
        throw error instanceof NoNodeError ? this.#goneError() : error;
      raised?.refused(error);
      return false;
    }
  }

  get #check(): TransactionPart {
    return { kind: 'check', path: this.path };
  }

  /**
   * Writes `parts` in one transaction, which the servers carry out only while the node exists. Extends the lease, unless the node
   * raises a version: no other session would see a lease that began with a write which doesn't raise the version.
   * @param others - further nodes of this session that have to exist
   * @throws NodeLostError if one of the nodes is gone; then nothing is written
   * @throws the errors of `Session.commit`
   */
  async commit(
    parts: readonly TransactionPart[],
    others: readonly EphemeralNode[] = [],
  ): Promise<Reply<PartResult[]>> {
    const guards = [this, ...others];
    const reply = await this.#commitGuarded(parts, guards);
    for (const guard of guards) if (guard.#raised === undefined) guard.extendLease(reply.sentAt);
    return reply;
  }

  /**
   * Writes `parts`, which claim a term, as {@link commit} does. The lease of the term begins with this write, since the record
   * shows the claim to others. The write also creates the heartbeat node, unless a heartbeat has done so. If it isn't answered,
   * the caller finds out whether the servers carried it out, and calls {@link claimSettled}. Until then no heartbeat is sent if
   * the write was to create that node.
   */
  async claim(parts: readonly TransactionPart[]): Promise<Reply<PartResult[]>> {
    const commit: CommitParts = (all) => this.#commitGuarded(all, [this]);
    const raised = this.#raised;
    const reply = await (raised === undefined ? commit(parts) : raised.claimWith(parts, commit));
    this.extendLease(reply.sentAt);
    return reply;
  }

  /**
   * The outcome of an unanswered claim is certain: the servers have carried it out, or never will. The next proof finds out
   * whether it created the heartbeat node.
   */
  claimSettled(): void {
    this.#raised?.claimSettled();
  }

  /** The part of a transaction that deletes the heartbeat node together with this node, if there is one. */
  get heartbeatDeletion(): TransactionPart[] {
    return this.#raised?.exists === true ? [{ kind: 'delete', path: this.#raised.path }] : [];
  }

  /**
   * Whether there may be a heartbeat node that {@link heartbeatDeletion} doesn't delete, because its creation isn't answered yet.
   */
  get mayLeaveHeartbeatNode(): boolean {
    return this.#raised?.mayExist === true && !this.#raised.exists;
  }

  async #commitGuarded(
    parts: readonly TransactionPart[],
    guards: readonly EphemeralNode[],
  ): Promise<Reply<PartResult[]>> {
    for (const { lost } of guards) lost.throwIfAborted();
    try {
      const checks = guards.map((guard) => guard.#check);
      const reply = await this.#session.commit([...checks, ...parts]);
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
    this.#watch?.stop();
    // The next contender waits for the deletion, which the caller sends next. The rest follows while the deletion is on its way.
    microtask(() => {
      this.#session.heartbeat.remove(this);
      this.#session.ended.removeEventListener('abort', this);
    });
  }

  /**
   * Deletes the node and its heartbeat node, and retries until both are gone or the session is over. The session reports the
   * first refusal, because every contender behind the node waits as long as it stays. Never rejects.
   */
  async deleteForSure(): Promise<void> {
    const paths = [this.path, ...(this.#raised?.mayExist === true ? [this.#raised.path] : [])];
    await Promise.all(paths.map((path) => deleteForSure(this.#session, path)));
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
    if (!this.#hasEnded) this.#watch ??= new NodeWatch(this.#session, this.path, this);
  }

  /** @internal */
  changing(): void {
    if (!this.#hasEnded) this.#onChanging();
  }

  /** @internal The node's data and stat, first after the watch began and then after each change. */
  read({ data, stat }: NodeData): void {
    if (!this.#session.owns(stat)) this.lose(new NodeLostError(`${this.path} belongs to another session`));
    this.#lastRead = { data, version: stat.version };
    if (!this.#hasEnded) this.#onRead(this.#lastRead);
  }

  /** @internal The node can no longer be read. */
  failed(error: unknown): void {
    if (error instanceof ZooKeeperError) this.unreadable(error);
    else this.lose(error as Error);
  }
}
