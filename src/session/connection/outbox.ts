import { ConnectionLossError, OperationTimeoutError } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import { LinkedList, type LinkedListNode } from '../../platform/collections/linked-list.js';
import { afterPendingInput, type Clock, type Timer } from '../../platform/time/clock.js';
import { nextTick } from '../../platform/time/timers.js';
import { type Request, removeWatchRequest } from '../protocol/requests.js';
import type { Connection } from './connection.js';
import type { Outcome, Reply } from './reply.js';

/** Where an operation goes: out at once, into the queue until there is a connection, or back. */
type OutboxState =
  | { readonly name: 'held'; readonly operations: Map<Operation, Request<unknown>> }
  | { readonly name: 'open'; readonly connection: Connection }
  | { readonly name: 'ended'; readonly reason: Error };

/** Of a request whose answer doesn't matter. */
const IGNORED: Outcome<void> = { resolve: ignore, reject: ignore };

/**
 * The operations of a session on their way to a server. What is issued while there is no connection is held, in
 * order, and goes out with the next one; what was sent is never sent again. Each settles: with its reply, its loss,
 * its own time-out, or the end of the session.
 */
export class Outbox {
  readonly #deadlines: Deadlines;
  #state: OutboxState = { name: 'held', operations: new Map() };

  constructor(clock: Clock) {
    this.#deadlines = new Deadlines(clock, this);
  }

  submit<T>(request: Request<T>, timeoutMs: number): Promise<Reply<T>> {
    const state = this.#state;
    if (state.name === 'ended') return Promise.reject(state.reason);
    return new Promise<Reply<T>>((resolve, reject) => {
      const settle = resolve as (reply: Reply<unknown>) => void;
      const operation = new Operation(this, request, timeoutMs, settle, reject);
      if (state.name === 'open') {
        // The time at which it is written is near enough for a deadline, and the clock takes its time.
        const sentAt = state.connection.dispatch(request, operation);
        // A transport that somebody else made may have brought the answer already.
        if (sentAt !== undefined && !operation.isSettled) this.#deadlines.add(operation, sentAt);
      } else {
        state.operations.set(operation, request);
        this.#deadlines.add(operation);
      }
    });
  }

  /**
   * Asks the server to watch that path no more, over the connection on which it watches: the next one isn't asked to. It may have
   * reported a change by now. `false`: there is no connection.
   */
  unwatch(path: string): boolean {
    if (this.#state.name !== 'open') return false;
    this.#state.connection.dispatch(removeWatchRequest(path), IGNORED);
    return true;
  }

  /** There is a connection: what was held goes out now, before anything that is issued later. */
  open(connection: Connection): void {
    const held = this.#held();
    this.#state = { name: 'open', connection };
    for (const [operation, request] of held) connection.dispatch(request, operation);
  }

  /** The connection is gone: hold what comes. What was sent is the connection's to settle. */
  hold(): void {
    if (this.#state.name === 'open') this.#state = { name: 'held', operations: new Map() };
  }

  /** The session is over: refuse what is held, and all that comes. */
  end(reason: Error): void {
    const held = this.#held();
    this.#state = { name: 'ended', reason };
    for (const operation of held.keys()) operation.reject(reason);
    this.#deadlines.end();
  }

  #held(): ReadonlyMap<Operation, Request<unknown>> {
    return this.#state.name === 'held' ? this.#state.operations : new Map();
  }

  settled(operation: Operation): void {
    this.#deadlines.remove(operation);
  }

  /** What a failure means to whoever asked: lost because the session has ended, then that is what there is to know. */
  reasonOf(error: unknown): unknown {
    return this.#state.name === 'ended' && error instanceof ConnectionLossError ? this.#state.reason : error;
  }

  timeOut(operation: Operation): void {
    const sent = this.#state.name !== 'held' || !this.#state.operations.delete(operation);
    operation.timeOut(sent);
  }
}

/** One that waits for its answer: as small as can be, because there may be very many. */
class Operation implements Outcome<unknown>, LinkedListNode<Operation> {
  before: Operation | undefined;
  after: Operation | undefined;
  /** By the clock of its deadlines, once it has been given one. */
  deadline = Number.POSITIVE_INFINITY;
  isSettled = false;
  readonly timeoutMs: number;
  readonly #outbox: Outbox;
  readonly #name: string;
  readonly #path: string | undefined;
  readonly #settle: (reply: Reply<unknown>) => void;
  readonly #refuse: (reason: unknown) => void;

  constructor(
    outbox: Outbox,
    request: Request<unknown>,
    timeoutMs: number,
    settle: (reply: Reply<unknown>) => void,
    refuse: (reason: unknown) => void,
  ) {
    this.#outbox = outbox;
    this.#name = request.name;
    this.#path = request.path;
    this.timeoutMs = timeoutMs;
    this.#settle = settle;
    this.#refuse = refuse;
  }

  resolve(reply: Reply<unknown>): void {
    this.isSettled = true;
    this.#outbox.settled(this);
    this.#settle(reply);
  }

  reject(error: unknown): void {
    this.isSettled = true;
    this.#outbox.settled(this);
    this.#refuse(this.#outbox.reasonOf(error));
  }

  timeOut(sent: boolean): void {
    const what = this.#path === undefined ? this.#name : `${this.#name} ${this.#path}`;
    const message = `${what}: ${sent ? 'no reply' : 'no connection'} within ${this.timeoutMs} ms`;
    this.#refuse(new OperationTimeoutError(message, sent));
  }
}

/**
 * When operations have to be given up: one timer for all, since those that come later are nearly always due later. One
 * that isn't, because the session timeout has become shorter, is given up together with the one before it.
 */
class Deadlines {
  readonly #clock: Clock;
  readonly #outbox: Outbox;
  readonly #waiting = new LinkedList<Operation>();
  #timer: Timer | undefined;
  #turnAt: number | undefined;
  /** When the timer is due. */
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, outbox: Outbox) {
    this.#clock = clock;
    this.#outbox = outbox;
  }

  add(operation: Operation, now = this.#turn()): void {
    operation.deadline = now + operation.timeoutMs;
    this.#waiting.append(operation);
    if (operation.deadline < this.#timerAt) this.#watch(now);
  }

  /** The time, read once for all that is asked in one go. */
  #turn(): number {
    if (this.#turnAt === undefined) {
      this.#turnAt = this.#clock.now();
      nextTick(() => {
        this.#turnAt = undefined;
      });
    }
    return this.#turnAt;
  }

  /** The timer is left to run, and finds nothing to do: operations come and go much more often. */
  remove(operation: Operation): void {
    this.#waiting.remove(operation);
  }

  /** Nothing comes any more, and what is left the connection settles: no process is kept alive for a timer. */
  end(): void {
    this.#timer?.clear();
    this.#timerAt = Number.NEGATIVE_INFINITY;
  }

  #watch(now: number): void {
    const { first } = this.#waiting;
    if (first === undefined) return;
    this.#timer?.clear();
    this.#timerAt = first.deadline;
    this.#timer = afterPendingInput(this.#clock, Math.max(0, first.deadline - now), () => this.#giveUp());
  }

  #giveUp(): void {
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
