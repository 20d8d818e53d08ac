import type { Logger } from '../platform/logging/logger.js';
import { hasSession, type Stat } from './protocol/multi-and-stats.js';

const MAX_PATHS = 10_000; // If a path is dropped, it is only checked again.

/**
 * The nodes that have a contender's name and belong to no session, as far as this session has seen. The contenders of all clients
 * are ephemeral nodes, so such a node isn't a place in a queue. A client that may create children has left it there, and it would
 * block the queue forever.
 */
export class OwnerlessNodes {
  readonly #logger: Logger;
  #paths: Set<string> | undefined; // Created on use: mostly there are no such nodes, and an empty set takes 170 bytes.

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Whether the node at `path` with this stat is ownerless. Logs a warning the first time. */
  isOne(path: string, stat: Stat): boolean {
    if (hasSession(stat)) return false;
    if (this.#paths?.has(path) !== true) this.#note(path);
    return true;
  }

  /** Whether a read has shown that this child of `queue` is ownerless. It may be another node by now, unless its name is used only once. */
  has(queue: string, child: string): boolean {
    return this.#paths?.has(`${queue}/${child}`) === true;
  }

  #note(path: string): void {
    if (this.#paths === undefined || this.#paths.size === MAX_PATHS) this.#paths = new Set();
    this.#paths.add(path);
    this.#logger.warn(
      { path },
      'a node in a queue belongs to no session, so it would never leave: Conclave ignores it; delete it, and check who may create children there',
    );
  }
}
