// Longer than 350 lines: 395; one method for each operation, which share the chroot, the outbox and the watches.
import {
  ConnectionLossError,
  InvalidOptionError,
  ListenerError,
  NodeExistsError,
  NoNodeError,
  OperationTimeoutError,
} from '../errors.js';
import { type Abortable, onAbort } from '../platform/async/lazy-abort.js';
import { abortable, ignore, microtask } from '../platform/async/promises.js';
import { checkFunction, checkOneOf, checkOptions, checkSignal } from '../platform/checks.js';
import type { Environment } from '../platform/environment.js';
import { SafeEmitter } from '../platform/safe-emitter.js';
import { Chroot } from './chroot.js';
import { Outbox } from './connection/outbox.js';
import type { Reply } from './connection/reply.js';
import { CREATE_MODES, checkData, checkPart, checkVersion } from './operation-checks.js';
import { type Access, type AccessEntry, checkAccess } from './protocol/acl.js';
import { isNoAuth } from './protocol/error-codes.js';
import type { CreateMode, NodeData, PartResult, Stat, TransactionPart } from './protocol/records.js';
import * as requests from './protocol/requests.js';
import { CreationWatches, type Watcher, WatchRegistry } from './watch-registry.js';

const NO_CHROOT = new Chroot(''); // One for all sessions without.

/** How a node is created. */
export interface CreateOptions {
  /** @default 'persistent' */
  readonly mode?: CreateMode;
  /** At most about 1 MB. @default no data */
  readonly data?: Uint8Array;
  /** Which clients may do what with it. @default the session's `access` */
  readonly access?: Access;
}

/** How a node is read. */
export interface ReadOptions {
  /** Called once, after a read that succeeded, when the node is `deleted` or may have `changed`: then read it. */
  readonly onChange?: (change: requests.Change) => void;
  /** If it aborts, `onChange` isn't called any more. */
  readonly signal?: AbortSignal;
}

/**
 * The operations on nodes: create, read, write, delete, list and watch them, below the chroot.
 *
 * Operations that are issued without a connection wait for one. An operation rejects with
 * - `ConnectionLossError` when the connection is lost before the reply: it may have been carried out;
 * - `OperationTimeoutError` when there is no reply within the session timeout;
 * - `SessionExpiredError` or `SessionClosedError` when the session has ended;
 * - a `ZooKeeperError` (`NoNodeError`, `BadVersionError`…) when the server refuses;
 * - `InvalidOptionError` when a path or the data can't be sent.
 */
export abstract class Operations<
  Events extends Record<keyof Events, (...args: never[]) => void>,
> extends SafeEmitter<Events> {
  /** @internal */
  protected readonly watches = new WatchRegistry();
  readonly #creations = new CreationWatches();
  #childWatches: WatchRegistry | undefined; // Few sessions have any: their memory is counted.
  /** @internal */
  protected readonly outbox: Outbox;
  readonly #chroot: Chroot;
  readonly #access: Access;

  /** @param chroot - what all paths are below, `''` for nothing */
  protected constructor(
    chroot: string,
    { access, environment }: { readonly access: Access; readonly environment: Environment },
  ) {
    super();
    this.#chroot = chroot === '' ? NO_CHROOT : new Chroot(chroot);
    this.#access = access;
    this.outbox = new Outbox(environment.clock);
  }

  /** How long an operation waits for its reply, in milliseconds. */
  abstract get sessionTimeoutMs(): number;

  /** Resolves when a server can be asked. @throws what ended the session, or the signal's reason */
  abstract whenConnected(signal?: Abortable): Promise<void>;

  /** Creates a node. The reply's value is its path, which for a sequential node ends in its number. */
  async create(path: string, options: CreateOptions = {}): Promise<Reply<string>> {
    checkOptions<CreateOptions>('create', options, ['mode', 'data', 'access']);
    const { data = Buffer.alloc(0) } = options;
    const access = checkAccess(options.access, this.#access);
    const mode = checkOneOf('mode', options.mode, CREATE_MODES, 'persistent');
    if (mode === 'ephemeral-sequential') return await this.createSequential(path, checkData(data), access);
    return await this.#create(this.absolute(path), checkData(data), mode, access);
  }

  /** @internal Creates an ephemeral node, to whose name the server appends a number. */
  createSequential(prefix: string, data: Buffer, access = this.#access): Promise<Reply<string>> {
    // The prefix may end with a slash, and a long one has to leave room for the number.
    const target = this.absolute(`${prefix}0`).slice(0, -1);
    return this.#create(target, data, 'ephemeral-sequential', access);
  }

  #perform<T>(request: requests.Request<T>): Promise<Reply<T>> {
    return this.outbox.submit(request, this.sessionTimeoutMs);
  }

  #create(target: string, data: Buffer, mode: CreateMode, access: Access): Promise<Reply<string>> {
    return this.#perform(requests.createRequest(target, data, mode, access, this.#chroot.decodePath));
  }

  /** Reads a node's data and stat; `onChange` gets the next change. */
  async getData(path: string, options: ReadOptions = {}): Promise<NodeData> {
    const { onChange, signal } = checkOptions<ReadOptions>('getData', options, ['onChange', 'signal']);
    checkFunction('onChange', onChange);
    checkSignal('signal', signal);
    if (onChange !== undefined) return await this.watchData(path, onChange, signal);
    return (await this.#perform(requests.getDataRequest(this.absolute(path), false))).value;
  }

  /** @internal As {@link getData} with `onChange`. */
  async watchData(
    path: string,
    onChange: (change: requests.Change) => void,
    signal?: Abortable,
  ): Promise<NodeData> {
    signal?.throwIfAborted();
    this.absolute(path); // Refuses a wrong path here: `cancelWatch` below runs in a listener of the signal.
    const watcher = {
      changed: (change: requests.Change) => {
        unsubscribe();
        // Not on the connection's stack, and still before anything that the server sends after the event.
        microtask(() => this.#callOnChange(onChange, change));
      },
    };
    let leavesWatch = false;
    const unsubscribe =
      signal === undefined
        ? ignore
        : onAbort(signal, () => {
            leavesWatch = !this.cancelWatch(path, watcher);
          });
    try {
      const node = await this.readAndWatch(path, watcher);
      if (leavesWatch) this.removeUnusedWatch(path);
      return node;
    } catch (error) {
      unsubscribe();
      throw error;
    }
  }

  /** @internal A server reports a change of a node that was watched. */
  notified({ path, change }: requests.WatchEvent): void {
    if (change === 'created') this.#creations.fire(path);
    else if (change === 'children') this.#childWatches?.fire(path, 'changed');
    else {
      this.watches.fire(path, change);
      if (change === 'deleted') this.#childWatches?.fire(path, change); // One event for both.
    }
  }

  /** All watches that the next connection has to restore. @internal */
  protected watchPortions(limit: number): requests.WatchPortion[] {
    const children = this.#childWatches?.portions(limit, 'children') ?? [];
    return [...this.watches.portions(limit, 'data'), ...children];
  }

  /** @internal */
  protected clearWatches(): void {
    this.watches.clear();
    this.#childWatches?.clear();
  }

  /**
   * @internal Calls `onCreated`, a function of this watch alone, when a node that doesn't exist is created: on the connection's stack, and
   * unless the connection is lost before. @returns what ends it
   * @param onThere - called when the server has looked, and there was a node already: the caller ends the watch then
   */
  watchCreation(path: string, onCreated: () => void, onThere: () => void = ignore): () => void {
    const target = this.absolute(path);
    this.#creations.add(target, onCreated);
    const watching = this.#perform(requests.existsRequest(target, true)).then(onThere, ignore); // Mostly there is no node, and the watch is set.
    return () => {
      if (!this.#creations.remove(target, onCreated) || this.removeUnusedWatch(path)) return;
      void watching.then(() => this.removeUnusedWatch(path)); // The request was held, and sets it.
    };
  }

  /** @internal Reads a node; `watcher` gets the next change, unless the read fails or the watch is cancelled before. */
  async readAndWatch(path: string, watcher: Watcher): Promise<NodeData> {
    const target = this.absolute(path);
    // Registered before the request goes out: the event may come in the same packet as the reply.
    this.watches.add(target, watcher);
    try {
      return (await this.#perform(requests.getDataRequest(target, true))).value;
    } catch (error) {
      this.watches.remove(target, watcher);
      throw error;
    }
  }

  /**
   * @internal Calls `watcher`, of a path that was read and watched, no more.
   * @returns `false`: without a connection the server couldn't be asked to remove the watch, and a read that is held will set
   *   it all the same. The caller calls {@link removeUnusedWatch} when that read is answered.
   */
  cancelWatch(path: string, watcher: Watcher): boolean {
    const target = this.#chroot.below(path);
    return !this.watches.remove(target, watcher) || this.removeUnusedWatch(path);
  }

  /** @internal Has the server remove its watch of a path, if nothing waits for a change of that any more. `false`: no connection. */
  removeUnusedWatch(path: string): boolean {
    const target = this.#chroot.below(path);
    return this.watches.has(target) || this.#creations.has(target) || this.outbox.unwatch(target);
  }

  /**
   * @internal Lists a node's children; `watcher` learns of the next one that comes or goes, and of the end of the node, unless the listing
   * fails or the watch is cancelled before.
   */
  async listAndWatch(path: string, watcher: Watcher) {
    const target = this.absolute(path);
    this.#childWatches ??= new WatchRegistry();
    this.#childWatches.add(target, watcher); // Before the request goes out, as in `readAndWatch`.
    try {
      return await this.#perform(requests.getChildrenRequest(target, false, true));
    } catch (error) {
      this.#childWatches.remove(target, watcher);
      throw error;
    }
  }

  /** @internal As {@link cancelWatch}, of a path whose children were listed and watched. */
  cancelChildWatch(path: string, watcher: Watcher): boolean {
    const target = this.#chroot.below(path);
    return this.#childWatches?.remove(target, watcher) !== true || this.removeUnusedChildWatch(path);
  }

  /** @internal As {@link removeUnusedWatch}, of the list of a path's children. */
  removeUnusedChildWatch(path: string): boolean {
    const target = this.#chroot.below(path);
    return this.#childWatches?.has(target) === true || this.outbox.unwatch(target, 'children');
  }

  /** @internal Whether the node exists, also if it can't be read: from 3.8.4 and 3.9.2 on servers refuse its stat then. */
  isThere(path: string): Promise<boolean> {
    return this.#isThereAt(this.absolute(path));
  }

  async #isThereAt(target: string): Promise<boolean> {
    try {
      await this.#perform(requests.existsRequest(target));
      return true;
    } catch (error) {
      if (error instanceof NoNodeError) return false;
      if (isNoAuth(error)) return true;
      throw error;
    }
  }

  /**
   * A node's stat, or `undefined` if there is no such node.
   *
   * @throws ZooKeeperError (`NO_AUTH`) from ZooKeeper 3.8.4 and 3.9.2 on, if the node exists and this session may not read it
   */
  async exists(path: string): Promise<Stat | undefined> {
    try {
      return (await this.#perform(requests.existsRequest(this.absolute(path)))).value;
    } catch (error) {
      if (error instanceof NoNodeError) return undefined;
      throw error;
    }
  }

  /** A node's access list. Of other clients' digests the server shows only the user's name. */
  async getAcl(path: string): Promise<AccessEntry[]> {
    return (await this.#perform(requests.getAclRequest(this.absolute(path)))).value;
  }

  /** The names of a node's children, in no order. */
  async getChildren(path: string): Promise<string[]> {
    return (await this.listChildren(path)).strings();
  }

  /** @internal {@link getChildren} for a caller that needs only some of the names as strings. */
  async listChildren(path: string, isUrgent = false) {
    return (await this.#perform(requests.getChildrenRequest(this.absolute(path), isUrgent))).value;
  }

  /** Writes a node's data, if it is still at `version`. Gives the stat after the write. */
  async setData(path: string, data: Uint8Array, version?: number): Promise<Stat> {
    return (
      await this.#perform(
        requests.setDataRequest(this.absolute(path), checkData(data), checkVersion(version)),
      )
    ).value;
  }

  /** Deletes a node, if it is still at `version`. */
  async remove(path: string, version?: number): Promise<void> {
    await this.#perform(requests.deleteRequest(this.absolute(path), checkVersion(version)));
  }

  /** All parts or none, in one committed write. @throws ZooKeeperError of the refused part, with its path: nothing is written */
  async commit(parts: readonly TransactionPart[]): Promise<Reply<PartResult[]>> {
    return await this.commitPrepared(this.#transactionOf(parts));
  }

  #transactionOf(parts: readonly TransactionPart[]): requests.PreparedTransaction {
    if (!Array.isArray(parts)) throw new InvalidOptionError('parts', parts, 'an array');
    const targets = (parts as readonly TransactionPart[]).map((part) => checkPart(part, this.#chroot));
    return requests.multiRequest(targets, this.#access, this.#chroot.relative);
  }

  /** @internal Checks and encodes a transaction for {@link commitPrepared}. @throws InvalidOptionError */
  prepare(parts: readonly TransactionPart[]): requests.PreparedTransaction {
    return requests.encodedNow(this.#transactionOf(parts));
  }

  /** @internal As {@link commit}. */
  async commitPrepared(transaction: requests.PreparedTransaction): Promise<Reply<PartResult[]>> {
    try {
      return await this.#perform(transaction);
    } catch (error) {
      throw error instanceof requests.TransactionError ? error.error : error;
    }
  }

  /**
   * Creates a persistent node and its missing parents, unless the node exists. It never changes a node that exists, so after it the node
   * may hold other data than these. The parents have no data, and the session's `access`. A lost connection is waited out.
   *
   * @example
   * ```js
   * await session.createIfMissing('/app/cursor', { data: Buffer.from('0') });
   * const { data, stat } = await session.getData('/app/cursor');
   * ```
   *
   * @throws InvalidOptionError for an option that it doesn't know, or a wrong one
   * @throws ZooKeeperError if a server refuses it, for instance since the parent is an ephemeral node
   * @throws SessionExpiredError or SessionClosedError if the session ends meanwhile
   */
  async createIfMissing(path: string, options: Omit<CreateOptions, 'mode'> = {}): Promise<void> {
    checkOptions<CreateOptions>('createIfMissing', options, ['data', 'access']);
    try {
      await this.retryUntilAnswered(() => this.create(path, options));
    } catch (error) {
      if (error instanceof NodeExistsError) return;
      // Servers check the permission before they look whether the node exists: another client may have created it.
      if (isNoAuth(error) && (await this.retryUntilAnswered(() => this.isThere(path)))) return;
      if (!(error instanceof NoNodeError)) throw error;
      const parent = path.slice(0, path.lastIndexOf('/'));
      await (parent === '' ? this.ensureChroot() : this.ensurePath(parent));
      await this.createIfMissing(path, options);
    }
  }

  /** Creates `path` and its missing parents, persistent and without data. `access`: of `path`, by default the session's. */
  async ensurePath(path: string, access?: Access): Promise<void> {
    await this.createIfMissing(path, access === undefined ? {} : { access });
  }

  /**
   * Repeats an operation that may be carried out twice, a read or a deletion, until a server has answered. An abort of the
   * signal ends the waiting: the operation may still be carried out.
   *
   * @throws the server's refusal, what ended the session, or the signal's reason
   */
  async retryUntilAnswered<T>(operation: () => Promise<T>, signal?: Abortable): Promise<T> {
    for (;;) {
      signal?.throwIfAborted();
      try {
        const asked = operation();
        return await (signal === undefined ? asked : abortable(asked, signal));
      } catch (error) {
        if (!isUnanswered(error)) throw error;
        await this.whenConnected(signal);
      }
    }
  }

  /** @internal The path as the servers know it: below the chroot. */
  absolute(path: string): string {
    return this.#chroot.absolute(path);
  }

  /** Creates the chroot as far as it is missing. No path of a caller could name it. */
  protected async ensureChroot(): Promise<void> {
    // Checked first: a client that may use it needn't have the permission to create it.
    if (this.#chroot.root === '' || (await this.retryUntilAnswered(() => this.isThere('/')))) return;
    for (const path of this.#chroot.nodes()) {
      if (await this.retryUntilAnswered(() => this.#isThereAt(path))) continue;
      const request = requests.createRequest(path, Buffer.alloc(0), 'persistent', this.#access);
      try {
        await this.retryUntilAnswered(() => this.#perform(request));
      } catch (error) {
        if (error instanceof NodeExistsError) continue;
        // As in `ensurePath`: the node may exist by now.
        if (!isNoAuth(error) || !(await this.retryUntilAnswered(() => this.#isThereAt(path)))) throw error;
      }
    }
  }

  #callOnChange(onChange: (change: requests.Change) => void, change: requests.Change): void {
    try {
      onChange(change);
    } catch (cause) {
      this.reportListenerError(new ListenerError('onChange', cause));
    }
  }
}

/** Whether no server has answered: it isn't known whether the operation was carried out. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof ConnectionLossError || error instanceof OperationTimeoutError;
}
