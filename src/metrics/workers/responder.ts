import type { ParentChannel } from '../../cluster/guardian/guardian-link.js';
import { ignore } from '../../platform/async/promises.js';
import { merged, type Snapshot } from '../model/series.js';
import { decodeRequest, encodeAnswer } from './metrics-messages.js';

/** What can be asked for metrics. */
export interface Measured {
  /** What this process has measured itself. Never rejects. */
  own(): Promise<Snapshot>;
}

/** Tells the parent process the metrics of this process, when it asks for them. */
export class Responder {
  readonly #channel: ParentChannel;
  readonly #measured = new Set<Measured>();

  constructor(channel: ParentChannel) {
    this.#channel = channel;
  }

  /** From now on these metrics are told. */
  add(measured: Measured): void {
    if (this.#channel.send === undefined) return; // There is no parent that could ask.
    // Only while there is something to tell: a listener for messages keeps a forked process alive.
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

/** That of this process. */
export const responder = new Responder(process as ParentChannel);
