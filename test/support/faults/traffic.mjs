import { LENGTH_BYTES } from '../wire/frames.mjs';
import { OPERATION, XID } from '../wire/protocol.mjs';

const NAMES = new Map(Object.entries(OPERATION).map(([name, code]) => [/** @type {number} */ (code), name]));

/** The traffic of one connection since its counts were taken last. */
export class Traffic {
  /** Numbers of requests by kind. @type {Record<string, number>} */
  requests = {};
  /** When the handshake passed, in milliseconds. */
  openedAt = Number.NaN;
  /** When each multi passed, in milliseconds. @type {number[]} */
  multisAt = [];
  /** When each `exists` without a watch (an existence probe) passed. @type {number[]} */
  probesAt = [];
  notifications = 0;
  bytesOut = 0;
  bytesIn = 0;
  isOpen = true;

  /** @param {Buffer} frame */
  request(frame) {
    this.bytesOut += LENGTH_BYTES + frame.length;
    const isHandshake = Number.isNaN(this.openedAt);
    const operation = isHandshake ? 'connect' : (NAMES.get(frame.readInt32BE(4)) ?? 'other');
    this.requests[operation] = (this.requests[operation] ?? 0) + 1;
    if (isHandshake) this.openedAt = performance.now();
    if (operation === 'multi') this.multisAt.push(performance.now());
    // The last byte of the request says whether it sets a watch.
    if (operation === 'exists' && frame.at(-1) === 0) this.probesAt.push(performance.now());
  }

  /** @param {Buffer} frame */
  reply(frame) {
    this.bytesIn += LENGTH_BYTES + frame.length;
    if (frame.readInt32BE(0) === XID.event) this.notifications++;
  }

  /** The counts so far. Those of further traffic begin again. */
  take() {
    const counts = { ...this };
    Object.assign(this, new Traffic(), { openedAt: this.openedAt, isOpen: this.isOpen });
    return counts;
  }
}
