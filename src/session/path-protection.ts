import { NoNodeError, UnprotectedPathError, ZooKeeperError } from '../errors.js';
import { type Logger, warnOfSetup } from '../platform/logging/logger.js';
import type { Operations } from './operations.js';
import { OwnerlessNodes } from './ownerless-nodes.js';
import * as acl from './protocol/acl.js';

const MAX_PATHS = 1000; // Enough for the locks of a service, unless it invents their names by the thousand.

/** How to treat paths: `check` that they are protected, `warn` once that no path is protected, or `trust` them. */
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
 * How long a check of a path's access list stays right. `for-good`: only clients with access can delete the path, and create it.
 * `while-used`: while the path has no children, it may be deleted, and any client may create it with another list.
 */
type Validity = 'for-good' | 'while-used';

/**
 * Checks that the paths of queues are protected. The access list of a node's *parent* decides which clients may delete the node.
 * So if any client may delete the children of a path, it can also delete nodes to which only their creator has access.
 *
 * The same holds for the path itself. While it has children, it can't be deleted. Without children, every client to which the parent gives
 * that permission can delete it. By default any client may delete the children of the root. So a path directly below the root isn't
 * refused. It is checked again for each contender, when the contender's node exists: from then on the path can't be exchanged.
 */
export class PathProtection {
  readonly #operations: PathOperations;
  readonly #logger: Logger;
  /** The nodes in queues that block no contender because they belong to no session. */
  readonly ownerless: OwnerlessNodes;
  readonly #warns: boolean;
  #warned = false;
  readonly #protected: Map<string, Validity> | undefined; // `undefined` if paths aren't checked at all.

  constructor(operations: PathOperations, logger: Logger, policy: PathPolicy) {
    this.#operations = operations;
    this.#logger = logger;
    this.ownerless = new OwnerlessNodes(logger);
    this.#warns = policy === 'warn';
    this.#protected = policy === 'check' ? new Map() : undefined;
  }

  /**
   * Checks the path of a queue, and creates it if it is missing. Returns a promise only if it has to ask the servers.
   * @param access - the access list of the path, if it has to be created. @default the session's
   * @throws UnprotectedPathError if any client may write the path, delete its children, or, unless it is directly below the root,
   *   delete the path
   * @throws the error that ended the session, or a `ZooKeeperError` if a server refuses
   */
  check(path: string, access?: acl.Access): Promise<void> | undefined {
    if (this.#warns) this.#warnOfAll(path);
    if (this.#protected === undefined || this.#protected.has(path)) return undefined;
    return this.#ask(path, this.#protected, access);
  }

  /**
   * Call it after the contender's node was created. It checks the path again if the path may have been deleted and created since
   * the first check. Otherwise it returns no promise. @throws as {@link PathProtection.check} does
   */
  confirm(path: string): Promise<void> | undefined {
    if (this.#protected === undefined || this.#protected.get(path) === 'for-good') return undefined;
    return this.#confirm(path);
  }

  async #confirm(path: string): Promise<void> {
    await this.#checkItself(path);
    if (this.#protected !== undefined) this.#remember(path, 'while-used', this.#protected);
  }

  #remember(path: string, validity: Validity, known: Map<string, Validity>): void {
    if (known.size === MAX_PATHS) known.clear();
    known.set(path, validity);
  }

  async #ask(path: string, known: Map<string, Validity>, access: acl.Access | undefined): Promise<void> {
    for (;;) {
      try {
        // The parent comes first. While it is protected, the path can't be exchanged before it is read.
        const [validity] = await Promise.all([this.#validity(path), this.#checkItself(path)]);
        return this.#remember(path, validity, known);
      } catch (error) {
        if (!(error instanceof NoNodeError)) throw error;
        // The path is then checked again, because another session may have created it first.
        await this.#operations.ensurePath(path, access);
      }
    }
  }

  /** Checks the access list of the path itself. */
  async #checkItself(path: string): Promise<void> {
    const access = await this.#accessOf(path);
    const entry = acl.openEntry(access, acl.DANGEROUS);
    if (entry === undefined) return;
    this.forget(path);
    const shown = this.#operations.absolute(path);
    throw new UnprotectedPathError(
      path,
      `any client may write ${shown}, delete its children or change its access list, and so end the terms and locks there; ${howToProtect(shown, access)}`,
    );
  }

  async #validity(path: string): Promise<Validity> {
    const parent = path.slice(0, path.lastIndexOf('/')) || '/';
    let access: acl.AccessEntry[];
    try {
      access = await this.#accessOf(parent);
    } catch (error) {
      if (error instanceof ZooKeeperError && !(error instanceof NoNodeError)) return 'while-used'; // This session may not read the list.
      throw error;
    }
    const entry = acl.openEntry(access, acl.PERMISSION.delete | acl.PERMISSION.admin);
    // When a client with access has deleted the path, as `conclave prune` does, any client may create it in its own way.
    if (entry === undefined)
      return acl.openEntry(access, acl.PERMISSION.create) === undefined ? 'for-good' : 'while-used';
    const [shown, shownParent] = [this.#operations.absolute(path), this.#operations.absolute(parent)];
    if (shownParent !== '/')
      throw new UnprotectedPathError(
        parent,
        `any client may delete the children of ${shownParent} or change its access list, and so delete ${shown} with its terms while its queue is empty; ${howToProtect(shownParent, access)}`,
      );
    this.#warnOnce(
      path,
      `the path is directly below the root, whose children any client may delete (${acl.describeEntry(entry)}): terms start again from 1 if a client deletes the path while its queue is empty; use a path one level deeper`,
    );
    return 'while-used';
  }

  #accessOf(path: string): Promise<acl.AccessEntry[]> {
    return this.#operations.retryUntilAnswered(() => this.#operations.getAcl(path));
  }

  /** Call it when the path was gone: another client may create it with another access list. */
  forget(path: string): void {
    this.#protected?.delete(path);
  }

  #warnOfAll(path: string): void {
    this.#warnOnce(
      path,
      'any client that can reach the servers may delete the nodes of locks and elections: set session.auth, or use TLS with access control',
    );
  }

  #warnOnce(path: string, message: string): void {
    if (this.#warned) return;
    this.#warned = true;
    warnOfSetup(this.#logger, { path }, message);
  }
}

function howToProtect(path: string, access: readonly acl.AccessEntry[]): string {
  const found = `the access list of ${path} is ${acl.describeAccess(access)}`;
  const line = `setAcl ${path} ${acl.describeAccess(acl.protect(access))}`;
  const page = 'docs/operations/servers.md#access';
  return `${found}: change it in zkCli.sh, after addauth with the credentials of the candidates, by: ${line} (see ${page}); or set allowUnprotectedPaths`;
}
