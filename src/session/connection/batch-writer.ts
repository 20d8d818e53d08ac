import { microtask } from '../../platform/async/promises.js';
import { type Clock, type LeaseInstant, leaseStart } from '../../platform/time/clock.js';
import { nextTick } from '../../platform/time/timers.js';

interface Writable {
  write(bytes: Buffer): unknown;
}

/**
 * Writes all requests of one turn of the event loop together, since each write is a system call. The first urgent request of a
 * turn is written at once, together with the earlier ones. So its caller can go on with its work while the request is on its way.
 */
export class BatchWriter {
  readonly #socket: Writable;
  readonly #clock: Clock;
  #unwritten: Buffer[] = [];
  #preceding: (() => void) | undefined;
  #sentAt: LeaseInstant | undefined;
  /** The requests in this turn: none yet (`idle`), some (`begun`), or an urgent one, which is written already (`urgent`). */
  #turn: 'idle' | 'begun' | 'urgent' = 'idle';

  constructor(socket: Writable, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /** The send time of the next write. The clock is read once for each write, so the time is early for the later requests. That is safe. */
  sentAt(): LeaseInstant {
    if (this.#unwritten.length === 0 || this.#sentAt === undefined) this.#sentAt = leaseStart(this.#clock);
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

  /**
   * Calls `task` before anything that is written after this call, and before any code that goes on in a later microtask: now if it is
   * urgent. If several calls come before that, only the last task is called. It must not throw.
   */
  precede(task: () => void, isUrgent: boolean): void {
    if (this.#preceding === undefined && !isUrgent) microtask(() => this.#catchUp());
    this.#preceding = task;
    if (isUrgent) this.#catchUp();
  }

  #catchUp(): void {
    const task = this.#preceding;
    this.#preceding = undefined;
    task?.();
  }

  /** Drops what isn't written yet. For a connection that has ended. */
  discard(): void {
    this.#unwritten = [];
    this.#preceding = undefined;
  }

  #flush(): void {
    this.#catchUp();
    const unwritten = this.#unwritten;
    if (unwritten.length === 0) return;
    this.#unwritten = [];
    this.#socket.write(unwritten.length === 1 ? (unwritten[0] as Buffer) : Buffer.concat(unwritten));
  }
}
