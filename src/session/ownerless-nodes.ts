import type { Logger } from '../platform/logging/logger.js';
import { hasSession, type Stat } from './protocol/records.js';

const MAX_PATHS = 10_000; // A path that is removed is only checked again.

/**
 * Nodes that have a contender's name and belong to no session, as far as this session has seen. Every client's contenders are
 * ephemeral nodes, so such a node is no place in a queue: a client that may create children has left it there, and it would
 * block the queue for ever.
 */
export class OwnerlessNodes {
  readonly #logger: Logger;
  #paths: Set<string> | undefined; // Mostly there are none, and an empty set takes 170 bytes.

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Whether the node at `path` with this stat is ownerless. Logs a warning the first time. */
  isOne(path: string, stat: Stat): boolean {
    if (hasSession(stat)) return false;
    if (this.#paths?.has(path) !== true) this.#note(path);
    return true;
  }

  /** Whether that child of `queue` was seen to be ownerless. It may be another node by now, unless its name is used only once. */
  has(queue: string, child: string): boolean {
    return this.#paths?.has(`${queue}/${child}`) === true;
  }

  #note(path: string): void {
    if (this.#paths === undefined || this.#paths.size === MAX_PATHS) this.#paths = new Set();
    this.#paths.add(path);
    this.#logger.warn(
      { path },
      'a node in a queue goes with no session, so it would never leave: it is ignored; delete it, and see who may create children there',
    );
  }
}
