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
import { SafeEmitter } from '../platform/safe-emitter.js';
import { Chroot } from './chroot.js';
import { Outbox } from './connection/outbox.js';
import type { Reply } from './connection/reply.js';
import { CREATE_MODES, checkData, checkPart, checkVersion } from './operation-checks.js';
import { type Access, type AccessEntry, checkAccess } from './protocol/acl.js';
import { isNoAuth } from './protocol/error-codes.js';
import type { CreateMode, NodeData, PartResult, Stat, TransactionPart } from './protocol/records.js';
import * as requests from './protocol/requests.js';
import type { ResolvedSessionOptions } from './session-options.js';
import { type Watcher, WatchRegistry } from './watch-registry.js';

/** How a node is created. */
export interface CreateOptions {
  /** @default 'persistent' */
  readonly mode?: CreateMode;
  /** At most about 1 MB. @default no data */
  readonly data?: Uint8Array;
  /** Who may touch it. @default the session's `access` */
  readonly access?: Access;
}

/** How a node is read. */
export interface ReadOptions {
  /**
   * Called once when the node is `deleted`, or its data have `changed` or may have: then read them. Only if the read
   * succeeds.
   */
  readonly onChange?: (change: requests.Change) => void;
  /** Aborting it takes `onChange` back. */
  readonly signal?: AbortSignal;
}

/**
 * What can be asked of the servers: nodes are created, read, written, deleted, listed and watched, below the chroot.
 *
 * Operations that are issued without a connection wait for one. An operation rejects with
 * - `ConnectionLossError` when the connection goes before the reply: it may have been carried out;
 * - `OperationTimeoutError` when there is no reply within the session timeout;
 * - `SessionExpiredError` or `SessionClosedError` when the session is over;
 * - a `ZooKeeperError` (`NoNodeError`, `BadVersionError`…) when the server refuses;
 * - `InvalidOptionError` when a path or the data can't be sent.
 */
export abstract class Operations<
  Events extends Record<keyof Events, (...args: never[]) => void>,
> extends SafeEmitter<Events> {
  /** @internal */
  protected readonly watches = new WatchRegistry();
  /** @internal */
  protected readonly outbox: Outbox;
  readonly #chroot: Chroot;
  readonly #access: Access;

  /** @param chroot - what all paths are below, `''` for nothing */
  protected constructor(
    chroot: string,
    { access, environment }: Pick<ResolvedSessionOptions, 'access' | 'environment'>,
  ) {
    super();
    this.#chroot = new Chroot(chroot);
    this.#access = access;
    this.outbox = new Outbox(environment.clock);
  }

  /** How long an operation waits for its reply, in milliseconds. */
  abstract get sessionTimeoutMs(): number;

  /** Resolves when a server can be asked. @throws what ended the session, or the signal's reason */
  abstract whenConnected(signal?: Abortable): Promise<void>;

  /** Creates a node. Gives its path, which for a sequential node ends in its number, and when it was asked for. */
  async create(path: string, options: CreateOptions = {}): Promise<Reply<string>> {
    const { data = Buffer.alloc(0) } = checkOptions<CreateOptions>('create', options, [
      'mode',
      'data',
      'access',
    ]);
    const access = checkAccess(options.access, this.#access);
    const mode = checkOneOf('mode', options.mode, CREATE_MODES, 'persistent');
    if (mode === 'ephemeral-sequential') return await this.createSequential(path, checkData(data), access);
    return await this.#create(this.absolute(path), checkData(data), mode, access);
  }

  /** @internal Creates an ephemeral node behind whose name the server puts a number. */
  createSequential(prefix: string, data: Buffer, access = this.#access): Promise<Reply<string>> {
    // It may end with a slash, and a long one leaves room for the number.
    const target = this.absolute(`${prefix}0`).slice(0, -1);
    return this.#create(target, data, 'ephemeral-sequential', access);
  }

  #perform<T>(request: requests.Request<T>): Promise<Reply<T>> {
    return this.outbox.submit(request, this.sessionTimeoutMs);
  }

  #create(target: string, data: Buffer, mode: CreateMode, access: Access): Promise<Reply<string>> {
    return this.#perform(requests.createRequest(target, data, mode, access, this.#chroot.decodePath));
  }

  /** Reads a node's data and stat, and tells of the next change to it if asked. */
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
    this.absolute(path); // A wrong path is refused here: there is nobody to refuse it to when the watch is taken back.
    const watcher = {
      changed: (change: requests.Change) => {
        takeBack();
        // Not on the connection's stack, and still before anything that the server says after the event.
        microtask(() => this.#tell(onChange, change));
      },
    };
    let untold = false;
    const takeBack =
      signal === undefined
        ? ignore
        : onAbort(signal, () => {
            untold = !this.takeBackWatch(path, watcher);
          });
    try {
      const node = await this.readAndWatch(path, watcher);
      if (untold) this.forgetWatch(path);
      return node;
    } catch (error) {
      takeBack();
      throw error;
    }
  }

  /** @internal A server reports a change of a node that was watched. */
  notified({ path, change }: requests.WatchEvent): void {
    this.watches.fire(path, change);
  }

  /** @internal Reads a node, and tells `watcher` of the next change, unless the read fails or it is taken back before. */
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
   * @internal
   * @param path - one that was read and watched
   * @returns `false`: there was no connection to tell the server by, and a read that is held will have it watch all the
   *   same. {@link forgetWatch} when that is answered.
   */
  takeBackWatch(path: string, watcher: Watcher): boolean {
    const target = this.#chroot.below(path);
    return !this.watches.remove(target, watcher) || this.outbox.unwatch(target);
  }

  /** @internal The server has been asked to watch a node that perhaps nobody watches any more. */
  forgetWatch(path: string): void {
    const target = this.#chroot.below(path);
    if (!this.watches.has(target)) this.outbox.unwatch(target);
  }

  /** @internal Whether there is such a node, also if it can't be read: from 3.8.4 and 3.9.2 on its stat is refused then. */
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
   * @throws ZooKeeperError (`NO_AUTH`) from ZooKeeper 3.8.4 and 3.9.2 on, if there is one that this session may not read
   */
  async exists(path: string): Promise<Stat | undefined> {
    try {
      return (await this.#perform(requests.existsRequest(this.absolute(path)))).value;
    } catch (error) {
      if (error instanceof NoNodeError) return undefined;
      throw error;
    }
  }

  /** Who may do what with a node. Of others' digests the server shows no more than the user's name. */
  async getAcl(path: string): Promise<AccessEntry[]> {
    return (await this.#perform(requests.getAclRequest(this.absolute(path)))).value;
  }

  /** The names of a node's children, in no order. */
  async getChildren(path: string): Promise<string[]> {
    return (await this.listChildren(path)).strings();
  }

  /** @internal The same, for whoever wants some of the names. */
  async listChildren(path: string, isUrgent = false) {
    return (await this.#perform(requests.getChildrenRequest(this.absolute(path), isUrgent))).value;
  }

  /** Writes a node's data, if it is still at `version`. Gives its stat after that. */
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

  /**
   * All parts or none, in one committed write.
   *
   * @throws ZooKeeperError of the part that was refused, with its path; nothing is written then
   */
  async commit(parts: readonly TransactionPart[]): Promise<Reply<PartResult[]>> {
    if (!Array.isArray(parts)) throw new InvalidOptionError('parts', parts, 'an array');
    const targets = (parts as readonly TransactionPart[]).map((part) => checkPart(part, this.#chroot));
    try {
      return await this.#perform(requests.multiRequest(targets, this.#access, this.#chroot.relative));
    } catch (error) {
      throw error instanceof requests.TransactionError ? error.error : error;
    }
  }

  /**
   * Creates `path` and all above it, as far as they are missing, as persistent nodes without data.
   *
   * @param access - who may touch `path` itself, if it is missing; by default whom the session lets
   */
  async ensurePath(path: string, access?: Access): Promise<void> {
    try {
      await this.retryUntilAnswered(() => this.create(path, access === undefined ? {} : { access }));
    } catch (error) {
      if (error instanceof NodeExistsError) return;
      // Who may not create it is refused before the servers look whether it is there: somebody else may have made it.
      if (isNoAuth(error) && (await this.retryUntilAnswered(() => this.isThere(path)))) return;
      if (!(error instanceof NoNodeError)) throw error;
      const parent = path.slice(0, path.lastIndexOf('/'));
      await (parent === '' ? this.ensureChroot() : this.ensurePath(parent));
      await this.ensurePath(path, access);
    }
  }

  /**
   * Repeats an operation that may be carried out twice, a read or a deletion, until a server has answered. When the
   * signal aborts it isn't waited for any more, and may be carried out all the same.
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

  /** Creates what all paths are below, as far as it is missing: it can't be named by any of them. */
  protected async ensureChroot(): Promise<void> {
    // Asked first: whoever may use it needn't be allowed to create it.
    if (this.#chroot.root === '' || (await this.retryUntilAnswered(() => this.isThere('/')))) return;
    for (const path of this.#chroot.nodes()) {
      if (await this.retryUntilAnswered(() => this.#isThereAt(path))) continue;
      const request = requests.createRequest(path, Buffer.alloc(0), 'persistent', this.#access);
      try {
        await this.retryUntilAnswered(() => this.#perform(request));
      } catch (error) {
        if (error instanceof NodeExistsError) continue;
        // Who may not create it is refused before the servers look whether it is there: by now it may be.
        if (!isNoAuth(error) || !(await this.retryUntilAnswered(() => this.#isThereAt(path)))) throw error;
      }
    }
  }

  #tell(onChange: (change: requests.Change) => void, change: requests.Change): void {
    try {
      onChange(change);
    } catch (cause) {
      this.reportListenerError(new ListenerError('onChange', cause));
    }
  }
}

/** No server has answered: the operation was or wasn't carried out. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof ConnectionLossError || error instanceof OperationTimeoutError;
}
