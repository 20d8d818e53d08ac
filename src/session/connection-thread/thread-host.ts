import type { Worker, WorkerOptions } from 'node:worker_threads';
import { ConnectionLossError, describe } from '../../errors.js';
import { microtask } from '../../platform/async/promises.js';
import { afterPendingInput, type Clock, type Timer } from '../../platform/time/clock.js';
import { RemoteSocket } from './remote-socket.js';
import type { FromThread, Opening, ToThread } from './thread-messages.js';

/** A running thread. `asked`: it has to show by an answer that it lives. */
interface Running {
  readonly name: 'running';
  readonly worker: Worker;
  readonly sockets: Map<number, RemoteSocket>;
  /** When it reported something last. A thread that is starting is waited for: Node reports it if that fails. */
  heardAt: number;
  asked: { readonly dueAt: number; readonly timer: Timer } | undefined;
}

/** How much of the time for an answer passes before the host asks the thread again. */
const ASKED_AFTER = 1 / 2;

/**
 * The thread that holds the connections of all sessions of the process that have `maxStallMs`. The first of them starts it, and it ends
 * when there is none left. While it has a connection, it keeps the process running, as a socket does.
 *
 * If it fails, or doesn't answer, its connections are lost for that reason, and the next connection starts another thread. No failure is
 * an uncaught exception.
 */
export class ThreadHost {
  readonly #clock: Clock;
  readonly #start: () => Worker;
  readonly #users = new Set<object>();
  #state: Running | { readonly name: 'none' } = { name: 'none' };
  #lastId = 0;

  constructor(clock: Clock, start: () => Worker) {
    this.#clock = clock;
    this.#start = start;
  }

  /** A session may open connections from now on, until {@link leave}. */
  join(user: object): void {
    this.#users.add(user);
  }

  /** The session opens no more connections, but for one that closes it. */
  leave(user: object): void {
    this.#users.delete(user);
    this.#endIfUnused();
  }

  /**
   * Opens a connection. Never throws: the socket reports an error.
   * @param answerWithinMs - how long the thread may take to show that it lives
   */
  open(opening: Opening, answerWithinMs: number): RemoteSocket {
    const id = ++this.#lastId;
    let running: Running;
    try {
      running = this.#running();
    } catch (error) {
      const socket = new RemoteSocket(id, () => undefined);
      microtask(() => socket.fail(failure(describe(error), error))); // The caller has set no listeners yet.
      return socket;
    }
    const socket = new RemoteSocket(id, (message, transferred) =>
      this.#post(running, message, answerWithinMs, transferred),
    );
    running.sockets.set(id, socket);
    socket.once('close', () => this.#closed(running, id));
    running.worker.ref();
    try {
      this.#post(running, { ...opening, kind: 'open', id }, answerWithinMs);
    } catch (error) {
      // An option of TLS can't be cloned: it has changed since the session checked it.
      microtask(() => socket.fail(failure(describe(error), error)));
    }
    return socket;
  }

  #running(): Running {
    if (this.#state.name === 'running') return this.#state;
    const worker = this.#start();
    const running: Running = {
      name: 'running',
      worker,
      sockets: new Map(),
      heardAt: Number.POSITIVE_INFINITY,
      asked: undefined,
    };
    worker.on('message', (message: FromThread) => this.#take(running, message));
    worker.on('messageerror', (error) => this.#fail(running, describe(error), error));
    worker.on('error', (error) => this.#fail(running, describe(error), error));
    worker.on('exit', (code) => this.#fail(running, `it exited with code ${code}`));
    worker.unref();
    this.#state = running;
    return running;
  }

  #post(running: Running, message: ToThread, answerWithinMs: number, transferred: ArrayBuffer[] = []): void {
    if (this.#state !== running) return;
    running.worker.postMessage(message, transferred);
    this.#askIfSilent(running, answerWithinMs, message.kind === 'destroy');
  }

  /** @param isLast - whether no later message may find a silent thread: the last one of a connection, whose end the thread has to report */
  #askIfSilent(running: Running, withinMs: number, isLast: boolean): void {
    const now = this.#clock.now();
    const dueAt = now + withinMs;
    if (running.asked === undefined) {
      const isStarting = running.heardAt === Number.POSITIVE_INFINITY;
      if (isStarting || (!isLast && now - running.heardAt < withinMs * ASKED_AFTER)) return;
      running.worker.postMessage({ kind: 'ask' } satisfies ToThread);
    } else if (running.asked.dueAt <= dueAt) return;
    // The session with the shortest time for an answer decides.
    running.asked?.timer.clear();
    const timer = afterPendingInput(this.#clock, withinMs, () =>
      this.#fail(running, `it did not answer within ${Math.round(withinMs)} ms`),
    );
    running.asked = { dueAt, timer };
  }

  #take(running: Running, message: FromThread): void {
    if (this.#state !== running) return;
    running.heardAt = this.#clock.now();
    running.asked?.timer.clear();
    running.asked = undefined;
    if (message.kind !== 'here') running.sockets.get(message.id)?.take(message);
  }

  #closed(running: Running, id: number): void {
    running.sockets.delete(id);
    if (running.sockets.size === 0) running.worker.unref();
    this.#endIfUnused();
  }

  #endIfUnused(): void {
    const state = this.#state;
    if (state.name === 'running' && this.#users.size === 0 && state.sockets.size === 0) this.#end(state);
  }

  #fail(running: Running, why: string, cause?: unknown): void {
    if (this.#state !== running) return;
    this.#end(running);
    for (const socket of [...running.sockets.values()]) socket.fail(failure(why, cause));
  }

  #end(running: Running): void {
    this.#state = { name: 'none' };
    running.asked?.timer.clear();
    running.worker.unref();
    void running.worker.terminate();
  }
}

function failure(why: string, cause?: unknown): ConnectionLossError {
  return new ConnectionLossError(`the thread that holds the connection has failed: ${why}`, { cause });
}

/** Starts the thread. @throws Node's error if its permission model forbids threads */
export function startThread(): Worker {
  // Loaded only when it is used, because loading takes time.
  const threads = process.getBuiltinModule('node:worker_threads');
  return new threads.Worker(new URL('./thread-main.js', import.meta.url), threadOptions(process.env));
}

/** Without the application's --import and --require, also those of NODE_OPTIONS: they would run in the thread, and could end it. */
export function threadOptions({ NODE_OPTIONS: _, ...env }: NodeJS.ProcessEnv): WorkerOptions {
  return { execArgv: [], env };
}
