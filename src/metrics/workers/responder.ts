import type { ParentChannel } from '../../cluster/dead-children/guardian-link.js';
import { ignore } from '../../platform/async/promises.js';
import { merged, type Snapshot } from '../model/series.js';
import { decodeRequest, encodeAnswer } from './metrics-messages.js';

/** Has metrics for the responder. */
export interface Measured {
  /** The metrics that this process has measured itself. Never rejects. */
  own(): Promise<Snapshot>;
}

/** Sends the metrics of this process to the parent process when the parent asks for them. */
export class Responder {
  readonly #channel: ParentChannel;
  readonly #measured = new Set<Measured>();

  constructor(channel: ParentChannel) {
    this.#channel = channel;
  }

  /** From now on the answers contain these metrics. */
  add(measured: Measured): void {
    if (this.#channel.send === undefined) return; // There is no parent that could ask.
    // Listens only while there are metrics, because a listener for messages keeps a forked process alive.
    if (this.#measured.size === 0) this.#channel.on('message', this.#onMessage);
    this.#measured.add(measured);
  }

  remove(measured: Measured): void {
    if (this.#measured.delete(measured) && this.#measured.size === 0)
      this.#channel.off('message', this.#onMessage);
  }

  readonly #onMessage = (message: unknown): void => {
    const request = decodeRequest(message);
    if (request !== undefined) void this.#answer(request); // Never rejects.
  };

  async #answer(request: number): Promise<void> {
    const snapshot = merged(await Promise.all([...this.#measured].map((each) => each.own())));
    if (this.#channel.connected) this.#channel.send?.(encodeAnswer({ request, snapshot }), ignore);
  }
}

/** The responder of this process. */
export const responder = new Responder(process as ParentChannel);
