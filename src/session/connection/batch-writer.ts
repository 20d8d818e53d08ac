import { type Clock, lowerBoundNow } from '../../platform/time/clock.js';
import { nextTick } from '../../platform/time/timers.js';

interface Writable {
  write(bytes: Buffer): unknown;
}

/**
 * Writes what is asked in one turn of the event loop in one go, since each write is a system call. The first urgent request of
 * a turn is written at once, with what came before it: its caller goes on with its work while the request is on its way.
 */
export class BatchWriter {
  readonly #socket: Writable;
  readonly #clock: Clock;
  #unwritten: Buffer[] = [];
  #sentAt = 0;
  /** What was asked in this turn: nothing yet, or something, or something urgent, which was written already. */
  #turn: 'idle' | 'begun' | 'urgent' = 'idle';

  constructor(socket: Writable, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /** When what is written next is sent. The clock is read once for each write: early for the later requests, which is safe. */
  sentAt(): number {
    if (this.#unwritten.length === 0) this.#sentAt = lowerBoundNow(this.#clock);
    return this.#sentAt;
  }

  write(bytes: Buffer, isUrgent = false): void {
    this.#unwritten.push(bytes);
    if (this.#turn === 'idle') {
      this.#turn = 'begun';
      nextTick(() => {
        this.#turn = 'idle';
        this.#flush();
      });
    }
    if (!isUrgent || this.#turn === 'urgent') return;
    this.#turn = 'urgent';
    this.#flush();
  }

  /** Writes nothing of what is left. For a connection that has ended, over which nothing is asked any more. */
  discard(): void {
    this.#unwritten = [];
  }

  #flush(): void {
    const unwritten = this.#unwritten;
    if (unwritten.length === 0) return;
    this.#unwritten = [];
    this.#socket.write(unwritten.length === 1 ? (unwritten[0] as Buffer) : Buffer.concat(unwritten));
  }
}
