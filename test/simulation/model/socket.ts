import { ignore } from '../../../src/platform/async/promises.js';
import type { Machine } from '../machine.js';
import { Pipe, type Route } from '../network.js';
import type { Scheduler } from '../scheduler.js';
import type { ServerConnection } from './connection.js';
import { ServerConnection as Connection } from './connection.js';

/** The server that a connection goes to, as the connection needs it. */
export interface Listening {
  /** Whether the process runs at all. A frozen process does: its system accepts connections for it. */
  readonly isUp: boolean;
  /** The present process: a restarted server has another one. */
  readonly machine: Machine;
  accept(connection: ServerConnection): void;
  receive(connection: ServerConnection, bytes: Buffer): void;
  hangUp(connection: ServerConnection): void;
}

type Listener = (...args: never[]) => void;

/** As much of `net.Socket` as a session uses. */
export class ClientSocket {
  readonly #listeners = new Map<string, Listener[]>();
  readonly #wire: Wire;
  #open = true;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  on(event: string, listener: Listener): this {
    const listeners = this.#listeners.get(event) ?? [];
    listeners.push(listener);
    this.#listeners.set(event, listeners);
    return this;
  }

  /** Events that are emitted only once need no `once`. */
  once(event: string, listener: Listener): this {
    return this.on(event, listener);
  }

  setNoDelay(): this {
    return this;
  }

  write(bytes: Buffer): boolean {
    if (this.#open) this.#wire.toServer(bytes);
    return true;
  }

  destroy(): this {
    if (!this.#open) return this;
    this.#open = false;
    this.#wire.closeAtClient();
    if (this.#wire.isOfThread) this.#wire.later(() => this.#emit('close'));
    return this;
  }

  /** Something has come from the network. */
  happens(event: 'connect' | 'data' | 'error' | 'close', argument?: unknown): void {
    if (!this.#open) return;
    this.#emit(event, argument);
    if (event === 'close' || (event === 'error' && this.#wire.isOfThread)) this.destroy();
  }

  #emit(event: string, argument?: unknown): void {
    for (const listener of this.#listeners.get(event) ?? [])
      (listener as (argument: unknown) => void)(argument);
  }
}

/** One TCP connection between a client and a server. Each end hears of the other only over the network. */
export class Wire {
  readonly socket: ClientSocket;
  readonly #client: Machine;
  readonly #server: Listening;
  readonly #scheduler: Scheduler;
  readonly #up: Pipe;
  readonly #down: Pipe;
  #connection: ServerConnection | undefined;
  /** The server's process at the time of the accept. */
  #process: Machine | undefined;
  readonly #onClosed: (wire: Wire) => void;
  /** Called with all that the client writes. */
  onWritten: (bytes: Buffer) => void = ignore;

  constructor(
    client: Machine,
    server: Listening,
    route: Route,
    scheduler: Scheduler,
    onClosed: (wire: Wire) => void,
  ) {
    this.#client = client;
    this.#server = server;
    this.#scheduler = scheduler;
    this.#onClosed = onClosed;
    this.#up = new Pipe(route.there);
    this.#down = new Pipe(route.back);
    this.socket = new ClientSocket(this);
    this.#upward(() => this.#arrive());
  }

  /** The first packet: the system answers for the process, if there is one. */
  #arrive(): void {
    if (!this.#server.isUp) return this.#tellClient('error', new Error('connect ECONNREFUSED'));
    const connection = new Connection(this);
    this.#connection = connection;
    this.#process = this.#server.machine;
    this.#tellClient('connect');
    this.#process.receive(() => this.#server.accept(connection));
  }

  /** The process at the client's end. */
  get client(): Machine {
    return this.#client;
  }

  /** Whether a thread of the process holds it. Such a socket emits `close` at its end, as Node's do: the main thread needs no such event. */
  get isOfThread(): boolean {
    return this.#client !== this.#client.process;
  }

  /** Something happens at the client's end, soon. */
  later(task: () => void): void {
    this.#scheduler.after(0, () => this.#client.receive(task));
  }

  /** Where it goes. */
  get server(): Listening {
    return this.#server;
  }

  toServer(bytes: Buffer): void {
    this.onWritten(bytes);
    this.#scheduler.note(bytes.length);
    this.#upward(() => this.#atServer((connection) => this.#server.receive(connection, bytes)));
  }

  toClient(bytes: Buffer): void {
    this.#scheduler.note(bytes.length ^ bytes.readInt32BE(bytes.length - 4));
    this.#tellClient('data', bytes);
  }

  closeAtClient(): void {
    this.#onClosed(this);
    this.#upward(() => this.#atServer((connection) => this.#server.hangUp(connection)));
  }

  closeAtServer(): void {
    this.#tellClient('close');
  }

  /** Both ends believe that the connection works, and no packet comes through any more. */
  sever(): void {
    this.#up.isSevered = true;
    this.#down.isSevered = true;
  }

  /** Both ends see the connection reset. */
  reset(): void {
    this.#tellClient('error', new Error('read ECONNRESET'));
    this.#up.send(() => this.#atServer((connection) => this.#server.hangUp(connection)));
  }

  #upward(arrive: () => void): void {
    this.#up.send(arrive, this.#client.sendsLaterByMs);
  }

  #atServer(task: (connection: ServerConnection) => void): void {
    const connection = this.#connection;
    if (connection === undefined || this.#process?.isDead) return;
    this.#process?.receive(() => {
      if (connection.phase !== 'closed') task(connection);
    });
  }

  #tellClient(event: 'connect' | 'data' | 'error' | 'close', argument?: unknown): void {
    this.#down.send(() => this.#client.receive(() => this.socket.happens(event, argument)));
  }
}
