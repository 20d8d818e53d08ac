import {
  ConnectionLossError,
  InvalidOptionError,
  ListenerError,
  NodeExistsError,
  NoNodeError,
  OperationTimeoutError,
  type ZooKeeperError,
} from '../errors.js';
import { type Abortable, onAbort } from '../platform/async/lazy-abort-controller.js';
import { abortable, ignore, microtask } from '../platform/async/promises.js';
import { checkFunction, checkOneOf, checkOptions, checkSignal } from '../platform/checks.js';
import type { Environment } from '../platform/injected-environment.js';
import { SafeEmitter } from '../platform/safe-emitter.js';
import { Chroot } from './chroot.js';
import { LostRequest } from './connection/connection-end.js';
import { Outbox } from './connection/outbox.js';
import type { Reply } from './connection/reply.js';
import { CREATE_MODES, checkData, checkPart, checkSize, checkVersion } from './operation-arguments.js';
import { type Access, type AccessEntry, checkAccess } from './protocol/acl.js';
import { explainedForSasl, isNoAuth, isThrottled, refusalOf } from './protocol/error-codes.js';
import type { CreateMode, NodeData, PartResult, Stat, TransactionPart } from './protocol/multi-and-stats.js';
import * as requests from './protocol/requests.js';
import { CreationWatches, type Watcher, WatchRegistry } from './watch-registry.js';

const NO_CHROOT = new Chroot(''); // One object for all sessions without a chroot.

/** How a node is created. */
export interface CreateOptions {
  /** @default 'persistent' */
  readonly mode?: CreateMode;
  /** The node's data, at most about 1 MB. @default no data */
  readonly data?: Uint8Array;
  /** The access list of the node. @default the session's `access` */
  readonly access?: Access;
}

/** How a node is read. */
export interface ReadOptions {
  /** Called once after a read that succeeded, when the node is `deleted` or may have `changed`. Then read it again. */
  readonly onChange?: (change: requests.Change) => void;
  /** After it aborts, `onChange` is no longer called. */
  readonly signal?: AbortSignal;
}

/**
 * The operations on nodes: create, read, write, delete, list and watch them. All paths are below the chroot.
 *
 * For the errors that all operations have, see {@link Session}.
 */
export abstract class Operations<
  Events extends Record<keyof Events, (...args: never[]) => void>,
> extends SafeEmitter<Events> {
  /** @internal */
  protected readonly watches = new WatchRegistry();
  readonly #creations = new CreationWatches();
  #childWatches: WatchRegistry | undefined; // Created on use, since few sessions need it, and the memory of each session counts.
  /** @internal */
  protected readonly outbox: Outbox;
  #chroot: Chroot;
  readonly #access: Access;
  readonly #hasSasl: boolean;

  /** @param chroot - the path below which all paths are, `''` for none. @param hasSasl - whether the session authenticates by SASL */
  protected constructor(
    chroot: string,
    { access, environment }: { readonly access: Access; readonly environment: Environment },
    hasSasl: boolean,
  ) {
    super();
    this.#hasSasl = hasSasl;
    this.#chroot = chroot === '' ? NO_CHROOT : new Chroot(chroot);
    this.#access = access;
    this.outbox = new Outbox(environment);
  }

  /** How long an operation waits for its reply, in milliseconds. */
  abstract get sessionTimeoutMs(): number;

  /**
   * Resolves when the session is connected. @throws SessionExpiredError, SessionClosedError or AuthenticationError if the session
   * ends before, or the signal's reason
   */
  abstract whenConnected(signal?: Abortable): Promise<void>;

  /**
   * Creates a node. The reply's value is its path, which ends with a number if the node is sequential.
   *
   * @throws NodeExistsError if there is such a node, NoNodeError if its parent is missing, and the errors that all operations have
   */
  async create(path: string, options: CreateOptions = {}): Promise<Reply<string>> {
    checkOptions<CreateOptions>('create', options, ['mode', 'data', 'access']);
    const { data = Buffer.alloc(0) } = options;
    const access = checkAccess(options.access, this.#access);
    const mode = checkOneOf('mode', options.mode, CREATE_MODES, 'persistent');
    const isSequential = mode === 'ephemeral-sequential';
    const target = isSequential ? this.#prefix(path) : this.#chroot.absoluteToCreate(path);
    const bytes = checkData(data);
    checkSize('create', [{ kind: 'create', path: target, data: bytes }], access);
    return await this.#create(target, bytes, mode, access);
  }

  /** @internal Creates an ephemeral node. The server appends a number to its name. */
  createSequential(prefix: string, data: Buffer, access = this.#access): Promise<Reply<string>> {
    return this.#create(this.#prefix(prefix), data, 'ephemeral-sequential', access);
  }

  /** The path as the servers know it. It may end with a slash. */
  #prefix(prefix: string): string {
    return this.#chroot.absoluteToCreate(`${prefix}0`).slice(0, -1);
  }

  #perform<T>(request: requests.Request<T>): Promise<Reply<T>> {
    return this.outbox.submit(request, this.sessionTimeoutMs);
  }

  #create(target: string, data: Buffer, mode: CreateMode, access: Access): Promise<Reply<string>> {
    const request = requests.createRequest(target, data, mode, access, this.#chroot.decodePath);
    return this.#explained(this.#perform(request), access);
  }

  #explained<T>(creating: Promise<T>, access: Access): Promise<T> {
    if (!this.#hasSasl) return creating;
    return creating.catch((error: unknown) => {
      throw explainedForSasl(error, access);
    });
  }

  /**
   * Reads a node's data and stat; `onChange` gets the next change. The path `/zookeeper/config`, with the list of servers of an ensemble
   * that is reconfigured while it runs, is not below the chroot. It can be read, and nothing else. @throws NoNodeError if there is no such node, and the errors
   * that all operations have: see the class
   */
  async getData(path: string, options: ReadOptions = {}): Promise<NodeData> {
    const { onChange, signal } = checkOptions<ReadOptions>('getData', options, ['onChange', 'signal']);
    checkFunction('onChange', onChange);
    checkSignal('signal', signal);
    if (onChange !== undefined) return await this.watchData(path, onChange, signal);
    return (await this.#perform(requests.getDataRequest(this.#chroot.absoluteToRead(path), false))).value;
  }

  /**
   * @internal Reads several nodes in one request, which costs a server and this process a fraction of as many requests. Of ClickHouse Keeper
   *   it reads them one by one. @returns what each node has, or the error with which the server refuses that one. The caller sees to it that request
   *   and answer have a moderate size
   * @throws the errors that all operations have
   */
  async getDataOfEach(paths: readonly string[]): Promise<(NodeData | ZooKeeperError)[]> {
    const targets = paths.map((path) => this.absolute(path));
    if (this.outbox.readsSeveral) return (await this.#perform(requests.getDataOfEachRequest(targets))).value;
    const read = (target: string) => this.#perform(requests.getDataRequest(target, false));
    return await Promise.all(targets.map((target) => read(target).then(({ value }) => value, refusalOf)));
  }

  /** @internal As {@link getData} with `onChange`. */
  async watchData(
    path: string,
    onChange: (change: requests.Change) => void,
    signal?: Abortable,
  ): Promise<NodeData> {
    signal?.throwIfAborted();
    this.#chroot.absoluteToRead(path); // Refuses a wrong path here: `cancelWatch` below runs in a listener of the signal.
    const watcher = {
      changed: (change: requests.Change) => {
        unsubscribe();
        // Not on the connection's stack, but before anything that the server sends after the event.
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

  /** @internal Called when a server reports a change of a watched node. */
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
   * @internal Calls `onCreated`, a function of this watch alone, when a node that doesn't exist is created. The call is on the
   *   connection's stack, and doesn't come if the connection is lost before. @returns a function that ends the watch
   * @param onThere - called when the server has answered that the node exists already. The caller then ends the watch
   */
  watchCreation(path: string, onCreated: () => void, onThere: () => void = ignore): () => void {
    const target = this.absolute(path);
    this.#creations.add(target, onCreated);
    const isWatched = () => this.#creations.has(target);
    // Mostly there is no node, and this sets the watch. A request that is throttled sets none.
    const look = (): Promise<void> =>
      this.#perform(requests.existsRequest(target, true)).then(onThere, (error) =>
        isThrottled(error) && isWatched() ? look() : undefined,
      );
    const watching = look();
    return () => {
      if (!this.#creations.remove(target, onCreated) || this.removeUnusedWatch(path)) return;
      void watching.then(() => this.removeUnusedWatch(path)); // The request was held, and sets the watch later.
    };
  }

  /** @internal Reads a node. `watcher` gets the next change, unless the read fails or the watch is cancelled before. */
  async readAndWatch(path: string, watcher: Watcher): Promise<NodeData> {
    const target = this.#chroot.absoluteToRead(path);
    // Registered before the request goes out, because the event may come in the same packet as the reply.
    this.watches.add(target, watcher);
    try {
      return (await this.#perform(requests.getDataRequest(target, true))).value;
    } catch (error) {
      this.watches.remove(target, watcher);
      throw error;
    }
  }

  /**
   * @internal Ends the calls of `watcher` for a path that was read and watched.
   * @returns `false` if there is no connection to ask the server to remove the watch. A read that is held will then set the watch
   *   all the same, and the caller calls {@link removeUnusedWatch} when that read is answered.
   */
  cancelWatch(path: string, watcher: Watcher): boolean {
    const target = this.#chroot.below(path);
    return !this.watches.remove(target, watcher) || this.removeUnusedWatch(path);
  }

  /** @internal Has the server remove its watch of a path, if no watcher waits for a change there any more. `false` without a connection. */
  removeUnusedWatch(path: string): boolean {
    const target = this.#chroot.below(path);
    return this.watches.has(target) || this.#creations.has(target) || this.outbox.unwatch(target);
  }

  /**
   * @internal Lists a node's children. `watcher` learns of the next child that comes or goes, and of the node's end, unless the
   *   listing fails or the watch is cancelled before.
   */
  async listAndWatch(path: string, watcher: Watcher) {
    const target = this.absolute(path);
    this.#childWatches ??= new WatchRegistry();
    this.#childWatches.add(target, watcher); // This comes before the request goes out, as in `readAndWatch`.
    try {
      return await this.#perform(requests.getChildrenRequest(target, false, true));
    } catch (error) {
      this.#childWatches.remove(target, watcher);
      throw error;
    }
  }

  /** @internal As {@link cancelWatch}, for a path whose children were listed and watched. */
  cancelChildWatch(path: string, watcher: Watcher): boolean {
    const target = this.#chroot.below(path);
    return this.#childWatches?.remove(target, watcher) !== true || this.removeUnusedChildWatch(path);
  }

  /** @internal As {@link removeUnusedWatch}, for the list of a path's children. */
  removeUnusedChildWatch(path: string): boolean {
    const target = this.#chroot.below(path);
    return this.#childWatches?.has(target) === true || this.outbox.unwatch(target, 'children');
  }

  /**
   * @internal Whether the node exists, even if the session may not read it: from 3.8.4 and 3.9.2 on, servers then refuse to show its stat.
   */
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
   * @throws ZooKeeperError (`NO_AUTH`) from ZooKeeper 3.8.4 and 3.9.2 on, if the node exists and this session may not read it;
   *   and the errors that all operations have
   */
  async exists(path: string): Promise<Stat | undefined> {
    try {
      return (await this.#perform(requests.existsRequest(this.#chroot.absoluteToRead(path)))).value;
    } catch (error) {
      if (error instanceof NoNodeError) return undefined;
      throw error;
    }
  }

  /**
   * A node's access list. For entries with the digests of others, the server shows only the user's name. @throws NoNodeError if
   * there is no such node, and the errors that all operations have
   */
  async getAcl(path: string): Promise<AccessEntry[]> {
    return (await this.#perform(requests.getAclRequest(this.absolute(path)))).value;
  }

  /**
   * The names of a node's children, in no order. @throws NoNodeError if there is no such node, and the errors that all
   * operations have: see the class
   */
  async getChildren(path: string): Promise<string[]> {
    return (await this.listChildren(path)).strings();
  }

  /** @internal As {@link getChildren}, for a caller that needs only some of the names as strings. */
  async listChildren(path: string, isUrgent = false) {
    return (await this.#perform(requests.getChildrenRequest(this.absolute(path), isUrgent))).value;
  }

  /**
   * Writes a node's data. Resolves with the stat after the write.
   *
   * @param version - the version that the node must have; any by default
   * @throws NoNodeError if there is no such node, BadVersionError if it has another version, and the errors that all operations have
   */
  async setData(path: string, data: Uint8Array, version?: number): Promise<Stat> {
    return (
      await this.#perform(
        requests.setDataRequest(this.absolute(path), checkData(data), checkVersion(version)),
      )
    ).value;
  }

  /**
   * Deletes a node.
   *
   * @param version - the version that the node must have; any by default
   * @throws NoNodeError if there is no such node, BadVersionError if it has another version, ZooKeeperError if it has children,
   *   and the errors that all operations have
   */
  async remove(path: string, version?: number): Promise<void> {
    await this.#perform(requests.deleteRequest(this.absolute(path), checkVersion(version)));
  }

  /**
   * Carries out all parts or none, in one committed write.
   *
   * @throws ZooKeeperError of the refused part, with its path, in which case nothing is written
   * @throws InvalidOptionError if a part can't be sent, or all parts together take more than 1,048,575 bytes, which is what servers take
   * @throws the errors that all operations have
   */
  async commit(parts: readonly TransactionPart[]): Promise<Reply<PartResult[]>> {
    if (!Array.isArray(parts)) throw new InvalidOptionError('parts', parts, 'an array');
    const targets = (parts as readonly TransactionPart[]).map((part) => checkPart(part, this.#chroot));
    checkSize('transaction', targets, this.#access);
    try {
      return await this.#perform(requests.multiRequest(targets, this.#access, this.#chroot.relative));
    } catch (error) {
      const refusal = error instanceof requests.TransactionError ? error.error : error;
      throw this.#hasSasl ? explainedForSasl(refusal, this.#access) : refusal;
    }
  }

  /**
   * Creates a persistent node and its missing parents, unless the node exists. It never changes a node that exists, so after it the node
   * may hold other data than these. The parents have no data, and the session's `access`. If the connection
   * is lost, the call waits for the next one.
   *
   * @example
   * ```js
   * await session.createIfMissing('/app/cursor', { data: Buffer.from('0') });
   * const { data, stat } = await session.getData('/app/cursor');
   * ```
   *
   * @throws InvalidOptionError for an option that it doesn't know, or a wrong one
   * @throws ZooKeeperError if a server refuses it, for instance since the parent is an ephemeral node
   * @throws RequestTooLargeError if the servers end the connection at each of five tries: their `jute.maxbuffer` is probably smaller than the
   *   request
   * @throws SessionExpiredError or SessionClosedError if the session ends meanwhile
   */
  async createIfMissing(path: string, options: Omit<CreateOptions, 'mode'> = {}): Promise<void> {
    checkOptions<CreateOptions>('createIfMissing', options, ['data', 'access']);
    try {
      await this.retryUntilAnswered(() => this.create(path, options));
    } catch (error) {
      if (error instanceof NodeExistsError) return;
      // Servers check the permission before they look whether the node exists. Another client may have created it.
      if (isNoAuth(error) && (await this.retryUntilAnswered(() => this.isThere(path)))) return;
      if (!(error instanceof NoNodeError)) throw error;
      const parent = path.slice(0, path.lastIndexOf('/'));
      await (parent === '' ? this.ensureChroot() : this.ensurePath(parent));
      await this.createIfMissing(path, options);
    }
  }

  /**
   * Creates `path` and its missing parents as persistent nodes without data. Does nothing if `path` exists.
   *
   * @param access - the access list of `path`. @default the session's
   * @throws ZooKeeperError if a server refuses
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   */
  async ensurePath(path: string, access?: Access): Promise<void> {
    await this.createIfMissing(path, access === undefined ? {} : { access });
  }

  /**
   * Repeats an operation until a server has answered. Use it only for operations that do no harm when the servers carry them out
   * twice, as a read or a deletion. An abort of the signal ends the wait; the servers may still carry the operation out.
   *
   * @throws RequestTooLargeError if the server has ended the connection at each of five tries of a request over 1 kB
   * @throws the error with which the server refuses, the error that ended the session, or the signal's reason
   */
  async retryUntilAnswered<T>(operation: () => Promise<T>, signal?: Abortable): Promise<T> {
    const request = new LostRequest();
    for (;;) {
      signal?.throwIfAborted();
      try {
        const asked = operation();
        return await (signal === undefined ? asked : abortable(asked, signal));
      } catch (error) {
        if (!isUnanswered(error)) throw error;
        request.countLoss(error);
        await this.whenConnected(signal);
      }
    }
  }

  /** @internal The path as the servers know it, with the chroot. */
  absolute(path: string): string {
    return this.#chroot.absolute(path);
  }

  /**
   * Creates the missing nodes of the chroot. Paths of callers can't name them.
   * @param chroot - the first one that a function has given. It doesn't change after the first request
   */
  protected async ensureChroot(chroot = this.#chroot.root): Promise<void> {
    if (chroot !== this.#chroot.root) this.#chroot = new Chroot(chroot);
    // The check comes first, because a client that may use the chroot needn't have the permission to create it.
    if (this.#chroot.root === '' || (await this.retryUntilAnswered(() => this.isThere('/')))) return;
    for (const path of this.#chroot.nodes()) {
      if (await this.retryUntilAnswered(() => this.#isThereAt(path))) continue;
      const request = requests.createRequest(path, Buffer.alloc(0), 'persistent', this.#access);
      try {
        await this.retryUntilAnswered(() => this.#explained(this.#perform(request), this.#access));
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

/** The answer to a read, or `undefined` if there is no such node. @throws any other error of the read */
export function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: unknown) => {
    if (error instanceof NoNodeError) return undefined;
    throw error;
  });
}

/**
 * Whether no server has answered. Then it isn't known whether the servers have carried the operation out. A request that a server has
 * throttled counts as one of these, since the caller has to do the same: repeat it.
 */
export function isUnanswered(error: unknown): boolean {
  return error instanceof ConnectionLossError || error instanceof OperationTimeoutError || isThrottled(error);
}
