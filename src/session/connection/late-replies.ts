import { type Logger, warnOfSetup } from '../../platform/logging/logger.js';

const IN_A_ROW = 3; // A single late reply may come from a pause, of a server or of this process.
const MESSAGE =
  'replies to heartbeats take longer than half a lease: whatever is held is lost again and again. Set leaseMs to three times ' +
  'what a reply takes, or find out what is slow: the disks of the servers, the link, or a blocked event loop here';

/** Finds a lease that replies can't keep: of two heartbeats, the second is sent when the first is answered. Warns of it once. */
export class LateReplies {
  readonly #logger: Logger;
  #inARow = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** A heartbeat for nodes was answered after `tookMs`. */
  note(tookMs: number, leaseMs: number): void {
    if (this.#inARow === IN_A_ROW) return; // It was warned of.
    this.#inARow = tookMs > leaseMs / 2 ? this.#inARow + 1 : 0;
    if (this.#inARow < IN_A_ROW) return;
    warnOfSetup(this.#logger, { leaseMs, replyMs: Math.round(tookMs) }, MESSAGE);
  }
}
