import { NoNodeError, UnprotectedPathError, ZooKeeperError } from '../errors.js';
import { type Logger, warnOfSetup } from '../platform/logging/logger.js';
import type { Operations } from './operations.js';
import { OwnerlessNodes } from './ownerless-nodes.js';
import {
  type Access,
  type AccessEntry,
  DANGEROUS,
  describeEntry,
  isOpenToAll,
  openEntry,
  PERMISSION,
} from './protocol/acl.js';

// Enough for the locks that a service uses, not for those that it makes up by the thousand.
const MOST_KNOWN = 1000;

/** What to do about a path: see that it is protected, say once that nothing is, or let it pass. */
export type PathPolicy = 'check' | 'warn' | 'trust';

export function pathPolicyOf(options: {
  readonly access: Access;
  readonly allowUnprotectedPaths: boolean;
}): PathPolicy {
  if (isOpenToAll(options.access)) return 'warn';
  return options.allowUnprotectedPaths ? 'trust' : 'check';
}

type PathOperations = Pick<Operations<never>, 'absolute' | 'ensurePath' | 'getAcl' | 'retryUntilAnswered'>;

/**
 * How long what was seen of a path's access list stays true: `for-good`, since only those who may do so anyway can delete the
 * path; or `while-used`, since everybody may delete it when nobody stands there, and create it with another list.
 */
type Validity = 'for-good' | 'while-used';

/**
 * Looks after what contenders stand on: ZooKeeper asks a node's *parent* whether it may be deleted, so nodes that only
 * their creator may touch are anybody's below a parent that everybody may delete from. The same goes for the path itself: as
 * long as it has children nobody can delete it, and without any, everybody could whom its own parent lets.
 *
 * The root lets everybody delete its children, on every server that is as it was installed. So a path directly below it isn't
 * refused, but looked at again with each contender, after that has its place: then it can't be exchanged any more.
 */
export class PathGuard {
  readonly #operations: PathOperations;
  readonly #logger: Logger;
  /** What stands in queues and is in nobody's way. */
  readonly ownerless: OwnerlessNodes;
  readonly #warns: boolean;
  #warned = false;
  /** Paths that were seen to be protected, when they are checked at all. */
  readonly #protected: Map<string, Validity> | undefined;

  constructor(operations: PathOperations, logger: Logger, policy: PathPolicy) {
    this.#operations = operations;
    this.#logger = logger;
    this.ownerless = new OwnerlessNodes(logger);
    this.#warns = policy === 'warn';
    this.#protected = policy === 'check' ? new Map() : undefined;
  }

  /**
   * Checks the path of a queue, which is created if it is missing: asks the servers the first time. There is nothing to wait
   * for if it gives no promise, as it mostly does.
   *
   * @param access - who may touch the path, if it is missing; by default whom the session lets
   * @throws UnprotectedPathError if everybody may write it, delete from it, or delete it where it isn't directly below the
   *   root; what ended the session, or a `ZooKeeperError` if a server refuses
   */
  check(path: string, access?: Access): Promise<void> | undefined {
    if (this.#warns) this.#warnOfAll(path);
    if (this.#protected === undefined || this.#protected.has(path)) return undefined;
    return this.#ask(path, this.#protected, access);
  }

  /**
   * Checks the path once more where that may be another one than it was, or was forgotten since it was checked. For who has a
   * node there: asked for after the node's creation. There is nothing to wait for if it gives no promise.
   *
   * @throws as {@link PathGuard.check} does
   */
  confirm(path: string): Promise<void> | undefined {
    if (this.#protected === undefined || this.#protected.get(path) === 'for-good') return undefined;
    return this.#checkItself(path);
  }

  /**
   * Checks a record below a path that was checked, if it is there: who may create children may have made it first.
   *
   * @throws as {@link PathGuard.check} does
   */
  async checkRecord(path: string): Promise<void> {
    if (this.#protected === undefined || this.#protected.has(path)) return;
    try {
      await this.#checkItself(path);
      this.#know(path, 'for-good', this.#protected);
    } catch (error) {
      if (!(error instanceof NoNodeError)) throw error;
    }
  }

  #know(path: string, validity: Validity, known: Map<string, Validity>): void {
    if (known.size === MOST_KNOWN) known.clear();
    known.set(path, validity);
  }

  async #ask(path: string, known: Map<string, Validity>, access: Access | undefined): Promise<void> {
    for (;;) {
      try {
        // The parent first: while that is protected, the path stays the one that is read after it.
        const [validity] = await Promise.all([this.#validity(path), this.#checkItself(path)]);
        return this.#know(path, validity, known);
      } catch (error) {
        if (!(error instanceof NoNodeError)) throw error;
        // For its creator only. Then it is looked at: another session may have created it first.
        await this.#operations.ensurePath(path, access);
      }
    }
  }

  async #checkItself(path: string): Promise<void> {
    const entry = openEntry(await this.#accessOf(path), DANGEROUS);
    if (entry === undefined) return;
    this.forget(path);
    const shown = this.#operations.absolute(path);
    throw new UnprotectedPathError(
      path,
      `${shown} lets everybody write it, delete its children or change its access list (${describeEntry(entry)}), and so end what is held there: restrict its access list (zkCli.sh: setAcl ${shown} …), or set allowUnprotectedPaths`,
    );
  }

  async #validity(path: string): Promise<Validity> {
    const parent = path.slice(0, path.lastIndexOf('/')) || '/';
    let entry: AccessEntry | undefined;
    try {
      entry = openEntry(await this.#accessOf(parent), PERMISSION.delete | PERMISSION.admin);
    } catch (error) {
      if (error instanceof ZooKeeperError && !(error instanceof NoNodeError)) return 'while-used'; // Not for us to see.
      throw error;
    }
    if (entry === undefined) return 'for-good';
    const [shown, shownParent] = [this.#operations.absolute(path), this.#operations.absolute(parent)];
    if (shownParent !== '/')
      throw new UnprotectedPathError(
        parent,
        `${shownParent} lets everybody delete its children or change its access list (${describeEntry(entry)}), and so delete ${shown} with its terms while nobody stands there: restrict the access list of ${shownParent} (zkCli.sh: setAcl ${shownParent} …), use a path one level deeper, as ${shown}/…, or set allowUnprotectedPaths`,
      );
    this.#warnOnce(
      path,
      `the path is directly below the root, which lets everybody delete its children (${describeEntry(entry)}): terms begin anew if somebody deletes it while nobody stands there; use a path one level deeper`,
    );
    return 'while-used';
  }

  #accessOf(path: string): Promise<AccessEntry[]> {
    return this.#operations.retryUntilAnswered(() => this.#operations.getAcl(path));
  }

  /** The path was gone: whoever creates it again may let everybody in. */
  forget(path: string): void {
    this.#protected?.delete(path);
  }

  #warnOfAll(path: string): void {
    this.#warnOnce(
      path,
      'whoever reaches the servers may delete the nodes of locks and elections: use auth or TLS with access control',
    );
  }

  #warnOnce(path: string, message: string): void {
    if (this.#warned) return;
    this.#warned = true;
    warnOfSetup(this.#logger, { path }, message);
  }
}
