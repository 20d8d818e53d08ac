import { type Logger, warnOfSetup } from '../../platform/logging/logger.js';

const IN_A_ROW = 3; // A single late reply may come from a pause of a server or of this process.
const MESSAGE =
  'replies to heartbeats take longer than half a lease: terms and locks are lost again and again. Set leaseMs to three times ' +
  'the time of a reply, or find out what is slow: the disks of the servers, the network, or the event loop of this process';

/** Warns once if replies are too slow for the lease. Of two heartbeats, the second is sent only when the first is answered. */
export class LateReplies {
  readonly #logger: Logger;
  #inARow = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** A heartbeat for nodes was answered after `tookMs`. */
  note(tookMs: number, leaseMs: number): void {
    if (this.#inARow === IN_A_ROW) return; // The warning was logged.
    this.#inARow = tookMs > leaseMs / 2 ? this.#inARow + 1 : 0;
    if (this.#inARow < IN_A_ROW) return;
    warnOfSetup(this.#logger, { leaseMs, replyMs: Math.round(tookMs) }, MESSAGE);
  }
}
