import type { Clock, Timer } from '../clock.js';
import { ConnectionLossError, OperationTimeoutError } from '../errors.js';
import { type Deferred, deferred } from '../promises.js';
import type { Connection, Reply } from './connection.js';
import type { Request } from './protocol.js';

interface Operation {
  readonly request: Request<unknown>;
  readonly outcome: Deferred<Reply<unknown>>;
  readonly timer: Timer;
}

/** Where an operation goes: out at once, into the queue until there is a connection, or back. */
type Outlet =
  | { readonly name: 'held' }
  | { readonly name: 'open'; readonly connection: Connection }
  | { readonly name: 'ended'; readonly reason: Error };

/**
 * The operations of a session on their way to a server. What is issued while there is no connection is held, in
 * order, and goes out with the next one; what was sent is never sent again. Each settles: with its reply, its loss,
 * its own time-out, or the end of the session.
 */
export class Outbox {
  readonly #clock: Clock;
  readonly #held = new Set<Operation>();
  #outlet: Outlet = { name: 'held' };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  submit<T>(request: Request<T>, timeoutMs: number): Promise<Reply<T>> {
    if (this.#outlet.name === 'ended') return Promise.reject(this.#outlet.reason);
    const outcome = deferred<Reply<T>>();
    const operation: Operation = {
      request,
      outcome: outcome as Deferred<Reply<unknown>>,
      timer: this.#clock.after(timeoutMs, () => this.#timeOut(operation, timeoutMs)),
    };
    if (this.#outlet.name === 'open') this.#send(operation, this.#outlet.connection);
    else this.#held.add(operation);
    return outcome.promise;
  }

  /** There is a connection: what was held goes out now, before anything that is issued later. */
  open(connection: Connection): void {
    this.#outlet = { name: 'open', connection };
    for (const operation of this.#held) this.#send(operation, connection);
    this.#held.clear();
  }

  /** The connection is gone: hold what comes. What was sent is the connection's to settle. */
  hold(): void {
    if (this.#outlet.name === 'open') this.#outlet = { name: 'held' };
  }

  /** The session is over: refuse what is held, and all that comes. */
  end(reason: Error): void {
    this.#outlet = { name: 'ended', reason };
    for (const { outcome, timer } of this.#held) {
      timer.clear();
      outcome.reject(reason);
    }
    this.#held.clear();
  }

  #send({ request, outcome, timer }: Operation, connection: Connection): void {
    connection.send(request).then(
      (reply) => {
        timer.clear();
        outcome.resolve(reply);
      },
      (error: unknown) => {
        timer.clear();
        // Lost because the session has ended: then that is what there is to know of it.
        const outlet = this.#outlet;
        const over = outlet.name === 'ended' && error instanceof ConnectionLossError;
        outcome.reject(over ? outlet.reason : error);
      },
    );
  }

  #timeOut(operation: Operation, timeoutMs: number): void {
    const sent = !this.#held.delete(operation);
    const { name, path } = operation.request;
    const what = path === undefined ? name : `${name} ${path}`;
    operation.outcome.reject(
      new OperationTimeoutError(
        `${what}: ${sent ? 'no reply' : 'no connection'} within ${timeoutMs} ms`,
        sent,
      ),
    );
  }
}
