import { HeldConnection, type HeldConnectionPort } from './held-connection.js';
import { type ToThread, toSent } from './messages.js';

/** The connections that a thread holds. It does what the messages of the main thread ask for. */
export class HeldConnections {
  readonly #port: HeldConnectionPort;
  readonly #connections = new Map<number, HeldConnection>();

  constructor(port: HeldConnectionPort) {
    this.#port = {
      ...port,
      post: (message, transferred) => {
        if (message.kind === 'closed') this.#connections.delete(message.id);
        port.post(message, transferred);
      },
    };
  }

  take(message: ToThread): void {
    switch (message.kind) {
      case 'open':
        return this.#open(message);
      case 'write':
        return this.#connections.get(message.id)?.write(message.bytes);
      case 'give':
        return this.#connections.get(message.id)?.give(message.given);
      case 'destroy':
        return this.#connections.get(message.id)?.destroy();
      case 'ask':
        return this.#port.post({ kind: 'here' });
    }
  }

  #open(message: ToThread & { kind: 'open' }): void {
    const { id, kind: _, ...opening } = message;
    try {
      this.#connections.set(id, new HeldConnection(id, opening, this.#port));
    } catch (error) {
      this.#port.post({ kind: 'failed', id, error: toSent(error) });
      this.#port.post({ kind: 'closed', id });
    }
  }
}
