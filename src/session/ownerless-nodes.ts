import type { Logger } from '../platform/logging/logger.js';
import { hasSession, type Stat } from './protocol/records.js';

// What is forgotten here is only looked at again.
const MOST_KNOWN = 10_000;

/**
 * Nodes that have a contender's name and go with no session, as far as this session has seen. Every client's locks are
 * ephemeral nodes, so such a node is nobody's place in a queue: whoever may create children has left it there, and it would be
 * in the way for ever.
 */
export class OwnerlessNodes {
  readonly #logger: Logger;
  readonly #paths = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Whether the node at `path` with this stat is one, which is remembered, and warned about the first time. */
  isOne(path: string, stat: Stat): boolean {
    if (hasSession(stat)) return false;
    if (!this.#paths.has(path)) this.#note(path);
    return true;
  }

  /** Whether that child of `queue` was seen to be one. It may be another node by now, unless its name is used only once. */
  has(queue: string, child: string): boolean {
    return this.#paths.size > 0 && this.#paths.has(`${queue}/${child}`);
  }

  #note(path: string): void {
    if (this.#paths.size === MOST_KNOWN) this.#paths.clear();
    this.#paths.add(path);
    this.#logger.warn(
      { path },
      'a node in a queue goes with no session, so it would never leave: it is ignored; delete it, and see who may create children there',
    );
  }
}
