import { Reader, Writer } from './jute.mjs';
import { closeSession, type Operation, ping } from './operations.js';
import { XID } from './protocol.mjs';
import { RawConnection } from './raw-connection.js';

const PROTOCOL_VERSION = 0;
const EVENT_NAMES: Readonly<Record<number, string>> = {
  1: 'created',
  2: 'deleted',
  3: 'changed',
  4: 'children',
  5: 'data watch removed',
  6: 'child watch removed',
  7: 'persistent watch removed',
};

export interface HandshakeOptions {
  readonly timeoutMs?: number;
  /** 0 asks for a new session. */
  readonly id?: bigint;
  readonly password?: Uint8Array | null;
  readonly protocolVersion?: number;
  readonly lastZxid?: bigint;
  /** Whether a read-only server is acceptable. `absent`: the handshake has no such flag, as with clients before 3.4. */
  readonly readOnly?: boolean | 'absent';
}

/** A server's answer to a handshake. */
export interface Greeting {
  readonly protocolVersion: number;
  /** 0 means that there is no such session. */
  readonly timeoutMs: number;
  readonly id: bigint;
  readonly password: Buffer;
  /** `undefined` if the answer ends before it. */
  readonly readOnly: boolean | undefined;
}

export interface Reply<T = unknown> {
  readonly xid: number;
  readonly zxid: bigint;
  readonly error: number;
  /** The answer of an operation that succeeded. */
  readonly value: T | undefined;
  readonly body: Buffer;
}

export interface WatchEvent {
  readonly zxid: bigint;
  readonly error: number;
  readonly type: number;
  readonly state: number;
  readonly path: string;
}

/** Everything that was received is one of these, in the order of arrival. */
export type Received =
  | { readonly kind: 'reply'; readonly xid: number; readonly zxid: bigint; readonly error: number }
  | ({ readonly kind: 'event' } & WatchEvent);

/** A connection ended before an answer came. */
export class ConnectionEndedError extends Error {}

interface Outstanding {
  readonly resolve: (reply: Omit<Reply, 'value'>) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One connection of one session, without any automatism: the client repeats nothing, holds nothing back, and sends nothing by itself, not even pings.
 *
 * A reply's body has to be read to its last byte. Otherwise the request rejects, so that surplus bytes are noticed.
 */
export class RawClient {
  readonly #connection: RawConnection;
  readonly #outstanding = new Map<number, Outstanding[]>();
  readonly #wakers = new Set<() => void>();
  #nextXid = 1;
  readonly greeting: Greeting;
  readonly received: Received[] = [];

  private constructor(connection: RawConnection, greeting: Greeting) {
    this.#connection = connection;
    this.greeting = greeting;
    connection.onFrame = (frame) => this.#take(frame);
    void connection.closed.then(() => this.#end());
  }

  /** @throws ConnectionEndedError if the server ends the connection instead of an answer. */
  static async connect(port: number, options: HandshakeOptions = {}): Promise<RawClient> {
    const connection = await RawConnection.open(port);
    return RawClient.over(connection, options);
  }

  static async over(connection: RawConnection, options: HandshakeOptions = {}): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      // At once, in the same turn as the first frame: others may follow it closely.
      connection.onFrame = (frame) => {
        try {
          resolve(new RawClient(connection, readGreeting(frame)));
        } catch (error) {
          reject(error);
        }
      };
      void connection.closed.then(() => reject(new ConnectionEndedError('in the handshake')));
      connection.writeFrame(handshake(options));
    });
  }

  get id(): bigint {
    return this.greeting.id;
  }

  get isClosed(): boolean {
    return this.#connection.isClosed;
  }

  /** Resolves when the connection has ended. */
  get closed(): Promise<unknown> {
    return this.#connection.closed;
  }

  /** The values by which another connection belongs to this session. */
  get credentials(): { readonly id: bigint; readonly password: Buffer } {
    return { id: this.greeting.id, password: this.greeting.password };
  }

  /** The events so far, in order, each as `what path`. */
  get events(): string[] {
    return this.received.flatMap((item) => (item.kind === 'event' ? [nameOf(item)] : []));
  }

  /** The events with all their fields. */
  get fullEvents(): WatchEvent[] {
    return this.received.flatMap((item) => (item.kind === 'event' ? [item] : []));
  }

  /** Replies and events in the order of arrival: a reply as its xid, an event as `what path`. */
  get order(): (number | string)[] {
    return this.received.map((item) => (item.kind === 'event' ? nameOf(item) : item.xid));
  }

  /** Sends a request, and resolves with its reply, an error or not. */
  async ask<T>(operation: Operation<T>, xid = operation.xid ?? this.#nextXid++): Promise<Reply<T>> {
    const reply = new Promise<Omit<Reply, 'value'>>((resolve, reject) => {
      if (this.isClosed) return reject(new ConnectionEndedError('before a request'));
      const queue = this.#outstanding.get(xid) ?? [];
      queue.push({ resolve, reject });
      this.#outstanding.set(xid, queue);
    });
    this.#connection.writeFrame(new Writer().int(xid).int(operation.type).raw(operation.body).done());
    const { body, ...header } = await reply;
    if (header.error !== 0) return { ...header, body, value: undefined };
    const reader = new Reader(body);
    const value = operation.decode(reader);
    if (reader.left > 0) throw new Error(`${reader.left} bytes behind the answer to type ${operation.type}`);
    return { ...header, body, value };
  }

  /** The answer of an operation that has to succeed. */
  async do<T>(operation: Operation<T>): Promise<T> {
    const { error, value } = await this.ask(operation);
    if (error !== 0) throw new Error(`type ${operation.type}: error ${error}`);
    return value as T;
  }

  /** The error of an operation; 0 if it succeeded. */
  async errorOf(operation: Operation<unknown>): Promise<number> {
    return (await this.ask(operation)).error;
  }

  /** The events so far, and those that the server has sent by now. */
  async eventsByNow(): Promise<string[]> {
    await this.do(ping());
    return this.events;
  }

  /** Resolves with the events when there are so many. */
  async eventsUpTo(count: number): Promise<string[]> {
    while (this.events.length < count) {
      if (this.isClosed) throw new ConnectionEndedError(`after ${this.events.length} of ${count} events`);
      await new Promise<void>((resolve) => this.#wakers.add(resolve));
    }
    return this.events;
  }

  /** Sends bytes as they are. */
  write(bytes: Uint8Array): void {
    this.#connection.write(bytes);
  }

  /** Ends the connection and leaves the session to the server, as after a crash. */
  vanish(): void {
    this.#connection.destroy();
  }

  /** Ends the session, if the connection still lives, and waits until the server has ended the connection. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    await this.ask(closeSession()).then(
      () => this.closed,
      () => this.vanish(),
    );
  }

  #take(frame: Buffer): void {
    const reader = new Reader(frame);
    const xid = reader.int();
    const zxid = reader.long();
    const error = reader.int();
    const body = reader.raw(reader.left);
    if (xid === XID.event) this.received.push({ kind: 'event', zxid, error, ...readEvent(body) });
    else {
      this.received.push({ kind: 'reply', xid, zxid, error });
      this.#outstanding.get(xid)?.shift()?.resolve({ xid, zxid, error, body });
    }
    this.#wake();
  }

  #end(): void {
    for (const queue of this.#outstanding.values())
      for (const { reject } of queue.splice(0)) reject(new ConnectionEndedError('before a reply'));
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#wakers) wake();
    this.#wakers.clear();
  }
}

function nameOf({ type, path }: WatchEvent): string {
  return `${EVENT_NAMES[type] ?? type} ${path}`;
}

export function handshake({
  timeoutMs = 30_000,
  id = 0n,
  password = Buffer.alloc(16),
  lastZxid = 0n,
  readOnly = false,
  protocolVersion = PROTOCOL_VERSION,
}: HandshakeOptions): Buffer {
  const writer = new Writer().int(protocolVersion).long(lastZxid).int(timeoutMs).long(id).buffer(password);
  return (readOnly === 'absent' ? writer : writer.bool(readOnly)).done();
}

function readGreeting(frame: Buffer): Greeting {
  const reader = new Reader(frame);
  const greeting = {
    protocolVersion: reader.int(),
    timeoutMs: reader.int(),
    id: reader.long(),
    password: reader.buffer() ?? Buffer.alloc(0),
    readOnly: reader.left > 0 ? reader.bool() : undefined,
  };
  if (reader.left > 0) throw new Error(`${reader.left} bytes behind a greeting`);
  return greeting;
}

function readEvent(body: Buffer): Pick<WatchEvent, 'type' | 'state' | 'path'> {
  const reader = new Reader(body);
  const event = { type: reader.int(), state: reader.int(), path: reader.string() as string };
  if (reader.left > 0) throw new Error(`${reader.left} bytes behind an event`);
  return event;
}
