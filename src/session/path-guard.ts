import { NoNodeError, UnprotectedPathError, ZooKeeperError } from '../errors.js';
import { type Logger, warnOfSetup } from '../platform/logging/logger.js';
import type { Operations } from './operations.js';
import { OwnerlessNodes } from './ownerless-nodes.js';
import * as acl from './protocol/acl.js';

const MAX_PATHS = 1000; // Enough for the locks of a service, unless it makes up their names by the thousand.

/** What to do about a path: check that it is protected, warn once that no path is, or trust it. */
export type PathPolicy = 'check' | 'warn' | 'trust';

export function pathPolicyOf(options: {
  readonly access: acl.Access;
  readonly allowUnprotectedPaths: boolean;
}): PathPolicy {
  if (acl.isOpenToAll(options.access)) return 'warn';
  return options.allowUnprotectedPaths ? 'trust' : 'check';
}

type PathOperations = Pick<Operations<never>, 'absolute' | 'ensurePath' | 'getAcl' | 'retryUntilAnswered'>;

/**
 * How long a check of a path's access list stays true: `for-good`, since strangers can't delete the path; or `while-used`, since
 * any client may delete the path while it has no children, and create it with another list.
 */
type Validity = 'for-good' | 'while-used';

/** What a check has shown of a path that is protected. */
interface ProtectedPath {
  readonly validity: Validity;
  /** Everybody may create nodes below it: without harm to a queue, but they may look as if they were a contender's. */
  readonly letsAllCreate: boolean;
}

/**
 * Checks that the paths of queues are protected. The access list of a node's *parent* decides whether the node may be deleted:
 * below a parent that lets everybody delete, any client can delete nodes that are for their creator only. The same holds for
 * the path itself: with children it can't be deleted, and without any, every client that its parent lets can delete it. By
 * default the root lets everybody delete its children. So a path directly below the root isn't refused, but checked again for
 * each contender, after the contender's node exists: then the path can't be exchanged any more.
 */
export class PathGuard {
  readonly #operations: PathOperations;
  readonly #logger: Logger;
  /** Nodes in queues that block no contender. */
  readonly ownerless: OwnerlessNodes;
  readonly #warns: boolean;
  #warned = false;
  readonly #protected: Map<string, ProtectedPath> | undefined; // The protected paths, if paths are checked at all.

  constructor(operations: PathOperations, logger: Logger, policy: PathPolicy) {
    this.#operations = operations;
    this.#logger = logger;
    this.ownerless = new OwnerlessNodes(logger);
    this.#warns = policy === 'warn';
    this.#protected = policy === 'check' ? new Map() : undefined;
  }

  /**
   * Checks the path of a queue, and creates it if it is missing. Gives no promise to wait for unless it has to ask the servers.
   * @param access - of the path, if it is missing; by default the session's
   * @throws UnprotectedPathError if everybody may write it, delete from it, or delete it where it isn't directly below the
   *   root; what ended the session, or a `ZooKeeperError` if a server refuses
   */
  check(path: string, access?: acl.Access): Promise<void> | undefined {
    if (this.#warns) this.#warnOfAll(path);
    if (this.#protected === undefined || this.#protected.has(path)) return undefined;
    return this.#ask(path, this.#protected, access);
  }

  /** Whether the path needs no check, neither before nor after a contender's node is created below it. */
  isForGood(path: string): boolean {
    return this.#protected === undefined || this.#protected.get(path)?.validity === 'for-good';
  }

  /**
   * To be called after the contender's node was created: checks the path again if it may have been deleted and created since
   * the first check. Otherwise gives no promise to wait for. @throws as {@link PathGuard.check} does
   */
  confirm(path: string): Promise<void> | undefined {
    if (this.isForGood(path)) return undefined;
    return this.#confirm(path);
  }

  async #confirm(path: string): Promise<void> {
    const letsAllCreate = await this.#checkItself(path);
    if (this.#protected !== undefined)
      this.#remember(path, { validity: 'while-used', letsAllCreate }, this.#protected);
  }

  /** Whether a node that appears below the path was created by a client that is let in: that paths aren't checked lets in all. */
  trustsCreations(path: string): boolean {
    return this.#protected === undefined || this.#protected.get(path)?.letsAllCreate === false;
  }

  /** Checks a record below a checked path, if it exists: any client may have made it. @throws as {@link PathGuard.check} */
  async checkRecord(path: string): Promise<void> {
    if (this.#protected === undefined || this.#protected.has(path)) return;
    try {
      const letsAllCreate = await this.#checkItself(path);
      this.#remember(path, { validity: 'for-good', letsAllCreate }, this.#protected);
    } catch (error) {
      if (!(error instanceof NoNodeError)) throw error;
    }
  }

  #remember(path: string, shown: ProtectedPath, known: Map<string, ProtectedPath>): void {
    if (known.size === MAX_PATHS) known.clear();
    known.set(path, shown);
  }

  async #ask(path: string, known: Map<string, ProtectedPath>, access: acl.Access | undefined): Promise<void> {
    for (;;) {
      try {
        // The parent first: while it is protected, the path can't be exchanged before it is read.
        const [validity, letsAllCreate] = await Promise.all([this.#validity(path), this.#checkItself(path)]);
        return this.#remember(path, { validity, letsAllCreate }, known);
      } catch (error) {
        if (!(error instanceof NoNodeError)) throw error;
        // Then it is checked again: another session may have created it first.
        await this.#operations.ensurePath(path, access);
      }
    }
  }

  /** Gives whether everybody may create nodes below it. */
  async #checkItself(path: string): Promise<boolean> {
    const access = await this.#accessOf(path);
    const entry = acl.openEntry(access, acl.DANGEROUS);
    if (entry === undefined) return acl.openEntry(access, acl.PERMISSION.create) !== undefined;
    this.forget(path);
    const shown = this.#operations.absolute(path);
    throw new UnprotectedPathError(
      path,
      `${shown} lets everybody write it, delete its children or change its access list (${acl.describeEntry(entry)}), and so end what is held there: restrict its access list (zkCli.sh: setAcl ${shown} …), or set allowUnprotectedPaths`,
    );
  }

  async #validity(path: string): Promise<Validity> {
    const parent = path.slice(0, path.lastIndexOf('/')) || '/';
    let entry: acl.AccessEntry | undefined;
    try {
      entry = acl.openEntry(await this.#accessOf(parent), acl.PERMISSION.delete | acl.PERMISSION.admin);
    } catch (error) {
      if (error instanceof ZooKeeperError && !(error instanceof NoNodeError)) return 'while-used'; // This session may not read it.
      throw error;
    }
    if (entry === undefined) return 'for-good';
    const [shown, shownParent] = [this.#operations.absolute(path), this.#operations.absolute(parent)];
    if (shownParent !== '/')
      throw new UnprotectedPathError(
        parent,
        `${shownParent} lets everybody delete its children or change its access list (${acl.describeEntry(entry)}), and so delete ${shown} with its terms while nobody stands there: restrict the access list of ${shownParent} (zkCli.sh: setAcl ${shownParent} …), use a path one level deeper, as ${shown}/…, or set allowUnprotectedPaths`,
      );
    this.#warnOnce(
      path,
      `the path is directly below the root, which lets everybody delete its children (${acl.describeEntry(entry)}): terms begin anew if somebody deletes it while nobody stands there; use a path one level deeper`,
    );
    return 'while-used';
  }

  #accessOf(path: string): Promise<acl.AccessEntry[]> {
    return this.#operations.retryUntilAnswered(() => this.#operations.getAcl(path));
  }

  /** To be called when the path was gone: it may have been created again with another access list. */
  forget(path: string): void {
    this.#protected?.delete(path);
  }

  #warnOfAll(path: string): void {
    this.#warnOnce(
      path,
      'everybody who can reach the servers may delete the nodes of locks and elections: set session.auth, or use TLS with access control',
    );
  }

  #warnOnce(path: string, message: string): void {
    if (this.#warned) return;
    this.#warned = true;
    warnOfSetup(this.#logger, { path }, message);
  }
}
