// Longer than 350 lines: 374; what is known of one node: its lease, watch and heartbeats begin and end together.
import { describe, NodeLostError, NoNodeError, ZooKeeperError } from '../errors.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { ignore, microtask } from '../platform/async/promises.js';
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

/** A node's data at one of its versions: all that its holder keeps of what it read. */
export type NodeContent = Readonly<Pick<NodeData, 'data'> & Pick<NodeData['stat'], 'version'>>;

/**
 * An ephemeral node with this session as its `ephemeralOwner` (another session's node at this path isn't this one), and what
 * is known of it: until when it surely exists (its lease), and, as soon as any reply shows it, that it is gone.
 */
export class EphemeralNode implements ProvenNode, NodeListener, HeartbeatVersionOwner {
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
  #onChanging: () => void = ignore;
  #onConfirmed: () => void = ignore;
  #watch: NodeWatch | undefined;
  /** Gives the path of the node whose version its heartbeats are to raise; `undefined`: they raise none. */
  #heartbeatPathOf: ((path: string) => string) | undefined;
  #raised: HeartbeatVersion | undefined;
  #mustRaise = false;

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

  /** Whether the node is known to be gone, with or without its session. */
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

  /** See {@link Lease.proofAgeMs}. */
  proofAgeMs(): number {
    return this.#lease.proofAgeMs();
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

  /**
   * Its heartbeats are to raise the version of the node at that path. To be called before {@link keepAlive}. From then on
   * nothing else extends the lease, but for a claim. A session with very many such nodes has checks for the others.
   */
  raiseVersionAt(heartbeatPathOf: (path: string) => string): void {
    this.#heartbeatPathOf = heartbeatPathOf;
  }

  /** The version that its heartbeats raise, since they began; `undefined` if they are checks. */
  get raised(): HeartbeatVersion | undefined {
    return this.#raised;
  }

  /** Sends heartbeats for the node from now on, which extend its lease again and again. */
  keepAlive(): void {
    const { heartbeat } = this.#session;
    if (this.#hasEnded || heartbeat.has(this)) return;
    this.decideHeartbeats();
    heartbeat.add(this);
  }

  /** Whether its heartbeats raise a version is decided now, and room for that is taken. {@link keepAlive} does so otherwise. */
  decideHeartbeats(): void {
    if (this.#raised !== undefined || !this.#session.heartbeat.hasRoomToRaise()) return;
    const path = this.#heartbeatPathOf?.(this.path);
    if (path === undefined) return;
    this.#raised = new HeartbeatVersion(path, this.#session.absolute(path), this);
    this.#session.heartbeat.takeRoom(this);
  }

  /** @internal */
  onChanged(): void {
    this.#session.heartbeat.changed();
  }

  /** From now on the node is lost if its heartbeats can raise no version. `false`: it is known already that they can't. */
  raiseOrLose(): boolean {
    this.#mustRaise = this.#raised !== undefined;
    return this.#mustRaise;
  }

  /** @internal */
  onUnavailable(cause: Error): void {
    if (this.#mustRaise) return this.onUnprovable('its heartbeat node can not be created', cause);
    this.#raised = undefined;
    this.#session.logger.warn(
      { path: this.absolutePath, cause: describe(cause) },
      'no heartbeat node can be created: a leader can be replaced only when its session has ended',
    );
  }

  /** @internal */
  onUnprovable(why: string, cause?: Error): void {
    this.lose(new NodeLostError(`${this.path} is given up: ${why}`, { cause }));
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
   * Proves now that the node exists, as a heartbeat does, and extends its lease. After a lost reply it is a barrier, too: a write sent
   * before it, on any connection of this session, has been carried out or never will be. It is a barrier alone, and extends no lease,
   * while it isn't known whether a claim has made the heartbeat node.
   * @throws NodeLostError if the node is gone, what ended the session, or the signal's reason
   */
  async renew(signal?: Abortable): Promise<void> {
    for (let isProven = false; !isProven && !this.#lost.aborted; ) isProven = await this.#prove(signal);
    this.#lost.throwIfAborted();
  }

  /** `false`: the heartbeat node was there already, can't be made, or was made anew: no lease has begun. */
  async #prove(signal?: Abortable): Promise<boolean> {
    const raised = this.#raised;
    let proof: TransactionPart | undefined;
    const prove = () => {
      proof = raised?.nextProof(); // Another one after a lost reply.
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
   * Writes `parts` in one transaction that is carried out only while the node exists. Extends the lease, unless the node
   * raises a version: a lease that began with a write which raises none would be seen by no other session.
   * @param others - further nodes of this session that have to exist
   * @throws NodeLostError if one of the nodes is gone: nothing is written then; and what `Session.commit` throws
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
   * Writes `parts`, which claim a term, as {@link commit} does. The lease of the term begins with it: the record shows it to
   * others. It makes the heartbeat node, unless a heartbeat has. If it isn't answered, the caller finds out whether it was
   * carried out, and calls {@link claimSettled}: until then no heartbeat is sent, if it was to make that node.
   */
  claim(parts: readonly TransactionPart[]): Promise<Reply<PartResult[]>> {
    return this.#claim(parts, (all) => this.#commitGuarded(all, [this]));
  }

  /** Creates the node, and writes `parts` as {@link claim} does, in one transaction. @throws what `Session.commit` throws */
  createWithClaim(data: Buffer, parts: readonly TransactionPart[]): Promise<Reply<PartResult[]>> {
    const creation = { kind: 'create', path: this.path, mode: 'ephemeral', data } as const;
    return this.#claim(parts, (all) => this.#commitBehind([creation], all));
  }

  async #claim(parts: readonly TransactionPart[], commit: CommitParts): Promise<Reply<PartResult[]>> {
    const raised = this.#raised;
    const reply = await (raised === undefined ? commit(parts) : raised.claimWith(parts, commit));
    this.extendLease(reply.sentAt);
    return reply;
  }

  /** A claim that wasn't answered was carried out, or never will be. Whether it made the heartbeat node, the next proof finds out. */
  claimSettled(): void {
    this.#raised?.claimSettled();
  }

  /** The part of a transaction that deletes the heartbeat node with this one, as far as there is one. */
  get heartbeatDeletion(): TransactionPart[] {
    return this.#raised?.exists === true ? [{ kind: 'delete', path: this.#raised.path }] : [];
  }

  /** Whether there may be a heartbeat node that {@link heartbeatDeletion} doesn't delete: its creation isn't answered. */
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
      return await this.#commitBehind(checks, parts);
    } catch (error) {
      if (!(error instanceof NoNodeError && error.operation === 'multi[check]')) throw error;
      const missing = guards.find((guard) => guard.absolutePath === error.path);
      if (missing === undefined) throw error; // The parts check another session's node.
      throw missing.#goneError();
    }
  }

  async #commitBehind(
    first: readonly TransactionPart[],
    parts: readonly TransactionPart[],
  ): Promise<Reply<PartResult[]>> {
    const reply = await this.#session.commit([...first, ...parts]);
    return { ...reply, value: reply.value.slice(first.length) };
  }

  #goneError(): Error {
    this.gone();
    return this.#lost.reason ?? new NodeLostError(`${this.path} is gone`);
  }

  /**
   * Calls `listener` with the node's data, as soon as they are known and after each change.
   * @param onChanging - called when it has changed, and is about to be read
   */
  whenRead(listener: (content: NodeContent) => void, onChanging = ignore): void {
    this.#onRead = listener;
    this.#onChanging = onChanging;
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

  /**
   * Deletes the node, and what is beside it, and retries until both are gone or the session is over. The session reports the
   * first refusal: as long as the node stays, every contender behind it waits. Never rejects.
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

  /** Watches the node from now on, if it isn't watched yet; else its first heartbeat would begin that. */
  watch(): void {
    if (!this.#hasEnded) this.#watch ??= new NodeWatch(this.#session, this.path, this);
  }

  /** @internal */
  changing(): void {
    if (!this.#hasEnded) this.#onChanging();
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
