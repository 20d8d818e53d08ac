import { ConnectionLossError, OperationTimeoutError } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import { LinkedList, type LinkedListNode } from '../../platform/collections/lists-and-sets.js';
import type { Environment } from '../../platform/injected-environment.js';
import { afterPendingInput, type Clock, type Timer } from '../../platform/time/clock.js';
import { nextTick } from '../../platform/time/timers.js';
import { isThrottled } from '../protocol/error-codes.js';
import { type Request, removeWatchRequest, type WatchKind } from '../protocol/requests.js';
import type { Connection } from './connection.js';
import type { Reply, ReplyReceiver } from './reply.js';

/** `held`: operations wait for a connection. `open`: they are sent at once. `ended`: they are refused. */
type OutboxState =
  | { readonly name: 'held'; readonly operations: Map<Operation, Request<unknown>> }
  | { readonly name: 'open'; readonly connection: Connection }
  | { readonly name: 'ended'; readonly reason: Error };

/** The shortest pause before a caller learns that its request was throttled, in milliseconds. It may be twice as long. */
const THROTTLED_PAUSE_MS = 100;

const IGNORED: ReplyReceiver<void> = { resolve: ignore, reject: ignore }; // The outcome of a request whose answer doesn't matter.

/**
 * The operations of a session on their way to a server. Without a connection they are held, in order, and sent over the next connection. No
 * operation is sent twice. Each one settles: with its reply, the loss of the reply, its own timeout, or the end of the session.
 */
export class Outbox {
  readonly #environment: Pick<Environment, 'clock' | 'random'>;
  readonly #deadlines: Deadlines;
  #state: OutboxState = { name: 'held', operations: new Map() };
  #throttled: Map<Operation, Timer> | undefined; // Created on use, since most sessions never have any.

  constructor(environment: Pick<Environment, 'clock' | 'random'>) {
    this.#environment = environment;
    this.#deadlines = new Deadlines(environment.clock, this);
  }

  submit<T>(request: Request<T>, timeoutMs: number): Promise<Reply<T>> {
    const state = this.#state;
    if (state.name === 'ended') return Promise.reject(state.reason);
    return new Promise<Reply<T>>((resolve, reject) => {
      const settle = resolve as (reply: Reply<unknown>) => void;
      const operation = new Operation(this, request, timeoutMs, settle, reject);
      if (state.name === 'open') {
        state.connection.dispatch(request, operation);
        // It may have been refused, and the socket of another environment may have delivered the answer already.
        if (!operation.isSettled) this.#deadlines.add(operation);
      } else {
        state.operations.set(operation, request);
        this.#deadlines.add(operation);
      }
    });
  }

  /**
   * Has the server remove its watch of a path, which may have fired. `false` without a connection; the next connection doesn't
   * restore the watch. ClickHouse Keeper isn't asked: the watch stays until it fires, which no watcher notices.
   */
  unwatch(path: string, kind?: WatchKind): boolean {
    if (this.#state.name !== 'open') return false;
    const { connection } = this.#state;
    if (!connection.isKeeper) connection.dispatch(removeWatchRequest(path, kind), IGNORED);
    return true;
  }

  /** Whether the server at hand answers several reads in one request. ClickHouse Keeper may be set up without that. */
  get readsSeveral(): boolean {
    return this.#state.name !== 'open' || !this.#state.connection.isKeeper;
  }

  /** Called when there is a connection. Sends the held operations now, before any that is issued later. */
  open(connection: Connection): void {
    const held = this.#held();
    this.#state = { name: 'open', connection };
    for (const [operation, request] of held) connection.dispatch(request, operation);
  }

  /** Called when the connection is lost. Holds new operations. The connection settles those that were sent. */
  hold(): void {
    if (this.#state.name === 'open') this.#state = { name: 'held', operations: new Map() };
  }

  /** Called when the session has ended. Refuses the held operations and all new ones. */
  end(reason: Error): void {
    const held = this.#held();
    this.#state = { name: 'ended', reason };
    for (const operation of held.keys()) operation.reject(reason);
    for (const [operation, timer] of this.#throttled ?? []) {
      timer.clear();
      operation.reject(reason);
    }
    this.#throttled = undefined;
    this.#deadlines.end();
  }

  #held(): ReadonlyMap<Operation, Request<unknown>> {
    return this.#state.name === 'held' ? this.#state.operations : new Map();
  }

  settled(operation: Operation): void {
    this.#deadlines.remove(operation);
  }

  /**
   * A server has throttled the operation. The caller learns of it after a pause, because most callers then repeat the operation: without a
   * pause, all of them would only add to the load of the server.
   */
  throttled(operation: Operation, error: unknown): void {
    const { clock, random } = this.#environment;
    this.#throttled ??= new Map();
    const timer = clock.after(THROTTLED_PAUSE_MS * (1 + random()), () => {
      this.#throttled?.delete(operation);
      operation.refuse(error);
    });
    this.#throttled.set(operation, timer);
  }

  /** The error that the caller gets. If the operation was lost because the session has ended, it is the reason of that end. */
  reasonOf(error: unknown): unknown {
    return this.#state.name === 'ended' && error instanceof ConnectionLossError ? this.#state.reason : error;
  }

  timeOut(operation: Operation): void {
    const sent = this.#state.name !== 'held' || !this.#state.operations.delete(operation);
    operation.timeOut(sent);
  }
}

/** An operation that waits for its answer. It is as small as possible, because there may be very many. */
class Operation implements ReplyReceiver<unknown>, LinkedListNode<Operation> {
  before: Operation | undefined;
  after: Operation | undefined;
  /** The time by the clock; `Infinity` until `Deadlines` sets it. */
  deadline = Number.POSITIVE_INFINITY;
  isSettled = false;
  readonly timeoutMs: number;
  readonly #outbox: Outbox;
  readonly #name: string;
  readonly #path: string | undefined;
  readonly #resolve: (reply: Reply<unknown>) => void;
  readonly #reject: (reason: unknown) => void;

  constructor(
    outbox: Outbox,
    request: Request<unknown>,
    timeoutMs: number,
    resolve: (reply: Reply<unknown>) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#outbox = outbox;
    this.#name = request.name;
    this.#path = request.path;
    this.timeoutMs = timeoutMs;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  resolve(reply: Reply<unknown>): void {
    this.isSettled = true;
    this.#outbox.settled(this);
    this.#resolve(reply);
  }

  reject(error: unknown): void {
    this.isSettled = true;
    this.#outbox.settled(this);
    if (isThrottled(error)) this.#outbox.throttled(this, error);
    else this.refuse(error);
  }

  refuse(error: unknown): void {
    this.#reject(this.#outbox.reasonOf(error));
  }

  timeOut(sent: boolean): void {
    const what = this.#path === undefined ? this.#name : `${this.#name} ${this.#path}`;
    const message = `${what}: ${sent ? 'no reply' : 'no connection'} within ${this.timeoutMs} ms`;
    this.#reject(new OperationTimeoutError(message, sent));
  }
}

/**
 * The timeouts of operations. One timer is enough for all, since a later operation is nearly always due later. If it isn't,
 * because the session timeout has become shorter, it times out together with the operation before it.
 */
class Deadlines {
  readonly #clock: Clock;
  readonly #outbox: Outbox;
  readonly #waiting = new LinkedList<Operation>();
  #timer: Timer | undefined;
  #turnAt: number | undefined; // The time of this turn of the event loop, once it was read.
  #timerAt = Number.POSITIVE_INFINITY; // When the timer is due.

  constructor(clock: Clock, outbox: Outbox) {
    this.#clock = clock;
    this.#outbox = outbox;
  }

  add(operation: Operation): void {
    const now = this.#turn();
    operation.deadline = now + operation.timeoutMs;
    this.#waiting.append(operation);
    if (operation.deadline < this.#timerAt) this.#watch(now);
  }

  /** The time. It is read once for all operations of one turn. */
  #turn(): number {
    if (this.#turnAt === undefined) {
      this.#turnAt = this.#clock.now();
      nextTick(() => {
        this.#turnAt = undefined;
      });
    }
    return this.#turnAt;
  }

  /** Removes an operation. The timer keeps running and then finds nothing to do, because operations come and go much more often. */
  remove(operation: Operation): void {
    this.#waiting.remove(operation);
  }

  /** Clears the timer, which mustn't keep the process alive. No operation follows, and the connection settles those that are left. */
  end(): void {
    this.#timer?.clear();
    this.#timerAt = Number.NEGATIVE_INFINITY;
  }

  #watch(now: number): void {
    const { first } = this.#waiting;
    if (first === undefined) return;
    this.#timer?.clear();
    this.#timerAt = first.deadline;
    this.#timer = afterPendingInput(this.#clock, Math.max(0, first.deadline - now), () => this.#timeOut());
  }

  #timeOut(): void {
    const now = this.#clock.now();
    this.#timerAt = Number.POSITIVE_INFINITY;
    let { first } = this.#waiting;
    while (first !== undefined && first.deadline <= now) {
      this.#waiting.remove(first);
      this.#outbox.timeOut(first);
      first = this.#waiting.first;
    }
    this.#watch(now);
  }
}
