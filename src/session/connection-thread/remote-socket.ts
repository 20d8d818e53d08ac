import { EventEmitter } from 'node:events';
import type { ConnectionSocket, Repeats } from '../connection/tcp-and-tls.js';
import type { Given } from './heartbeat-repeater.js';
import { type FromThread, fromSent, type ToThread } from './thread-messages.js';

type Post = (message: ToThread, transferred?: ArrayBuffer[]) => void;

/**
 * A socket that the connection's thread holds. It emits `connect` when the handshake may be written, with TLS too, then `data`, and at last
 * `error`, if there was one, and `close`. It also has {@link Repeats}.
 */
export class RemoteSocket extends EventEmitter implements ConnectionSocket {
  readonly #id: number;
  readonly #post: Post;
  #repeats: Repeats | undefined;
  /** `destroyed`: the thread has yet to report the end. Messages that were on their way mean nothing then, as with a `net.Socket`. */
  #state: 'open' | 'destroyed' | 'ended' = 'open';

  constructor(id: number, post: Post) {
    super();
    this.#id = id;
    this.#post = post;
  }

  write(bytes: Uint8Array | string): void {
    if (this.#state !== 'open') return;
    // In memory of its own, because a small buffer shares its memory with others, and all of it would be sent.
    const copy = new Uint8Array(Buffer.from(bytes));
    this.#post({ kind: 'write', id: this.#id, bytes: copy }, [copy.buffer]);
  }

  destroy(): void {
    if (this.#state !== 'open') return;
    this.#state = 'destroyed';
    this.#post({ kind: 'destroy', id: this.#id });
  }

  give(given: Given | undefined, repeats: Repeats): void {
    this.#repeats = repeats;
    if (this.#state === 'open') this.#post({ kind: 'give', id: this.#id, given });
  }

  /** The thread has reported something about this socket. */
  take(message: Exclude<FromThread, { kind: 'here' }>): void {
    if (this.#state === 'ended' || (this.#state === 'destroyed' && message.kind !== 'closed')) return;
    switch (message.kind) {
      case 'connected':
        return void this.emit('connect');
      case 'data':
        return void this.emit('data', Buffer.from(message.bytes.buffer));
      case 'answered':
        return this.#repeats?.answered(message.tookMs);
      case 'repeated':
        return this.#repeats?.repeated(message.answer);
      case 'failed':
        return void this.emit('error', fromSent(message.error));
      case 'closed':
        return this.#end();
    }
  }

  /** The thread has ended, so the connection is lost. */
  fail(error: Error): void {
    if (this.#state === 'ended') return;
    if (this.#state === 'open') this.emit('error', error);
    this.#end();
  }

  #end(): void {
    this.#state = 'ended';
    this.emit('close');
  }
}
