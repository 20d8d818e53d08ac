import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { inject } from 'vitest';
import { FrameReader } from '../../src/wire/frames.js';
import { onTestFinished } from './finish.js';

/** ZooKeeper's operation codes, as far as tests wait for them. */
export const OPERATION = {
  create: 1,
  delete: 2,
  getData: 4,
  setData: 5,
  getChildren: 8,
  multi: 14,
  closeSession: -11,
} as const;
export type OperationName = keyof typeof OPERATION;

const EVENT_XID = -1;

function lengthOf(frame: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(frame.length);
  return length;
}

interface Link {
  readonly client: Socket;
  readonly server: Socket;
}

/**
 * A TCP proxy in front of a server, for faults: cut, black hole, a request that arrives and whose reply doesn't.
 */
export class FaultProxy {
  readonly #listener: Server;
  readonly #links = new Set<Link>();
  readonly #target: number;
  readonly #readable: boolean;
  #mode: 'open' | 'refusing' | 'silent' | 'one-way' = 'open';
  #requests = 0;
  #counted: { at: number; reached: () => void } | undefined;
  #lastEvent: { path: string; sent: () => void } | undefined;
  #trap: { operation: number; text: string; swallow: boolean; sprung: () => void } | undefined;

  private constructor(target: number, readable: boolean) {
    this.#target = target;
    this.#readable = readable;
    this.#listener = createServer((client) => this.#accept(client));
  }

  /** @param options.readable - `false` for links whose requests can't be told apart: encrypted, or between servers */
  static async start(
    target = inject('port') as number,
    { readable = true, host = '127.0.0.1' } = {},
  ): Promise<FaultProxy> {
    const proxy = new FaultProxy(target, readable);
    await new Promise<void>((resolve, reject) => {
      proxy.#listener.once('error', reject).listen(0, host, resolve);
    });
    onTestFinished(() => proxy.stop());
    return proxy;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  get connectString(): string {
    const { address, family, port } = this.#listener.address() as AddressInfo;
    return `${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** How many requests have come by, without handshakes and pings. */
  get requests(): number {
    return this.#requests;
  }

  /** Resolves when so many more requests have come by. */
  afterRequests(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#counted = { at: this.#requests + count, reached: resolve };
    });
  }

  /** Ends all connections, and accepts no more until {@link FaultProxy.restore}. */
  cut(): void {
    this.#mode = 'refusing';
    this.#endAll();
  }

  /** Ends all connections; new ones are served. */
  bounce(): void {
    this.#endAll();
  }

  /** Lets nothing through in either direction, and says so to nobody. */
  blackHole(): void {
    this.#mode = 'silent';
  }

  /** Lets nothing through that the client asks; what the server says still comes. */
  dropRequests(): void {
    this.#mode = 'one-way';
  }

  restore(): void {
    if (this.#mode === 'silent' || this.#mode === 'one-way') this.#endAll();
    this.#mode = 'open';
  }

  /**
   * Ends the connection over which the next such request comes, when the server has answered it: the reply is lost.
   *
   * @param text - only a request that has these characters in it
   */
  loseReplyTo(operation: OperationName, text = ''): Promise<void> {
    return new Promise((resolve) => {
      this.#trap = { operation: OPERATION[operation], text, swallow: false, sprung: resolve };
    });
  }

  /** From the next such request on, it included, nothing comes through in either direction. */
  swallowFrom(operation: OperationName, text = ''): Promise<void> {
    return new Promise((resolve) => {
      const sprung = () => {
        this.#mode = 'silent';
        resolve();
      };
      this.#trap = { operation: OPERATION[operation], text, swallow: true, sprung };
    });
  }

  /** Ends the connection right behind the next event of this path: what the server says after it is lost. */
  endBehindEvent(path: string): Promise<void> {
    return new Promise((resolve) => {
      this.#lastEvent = { path, sent: resolve };
    });
  }

  async stop(): Promise<void> {
    this.#endAll();
    await new Promise<void>((resolve) => this.#listener.close(() => resolve()));
  }

  #accept(client: Socket): void {
    if (this.#mode === 'refusing') return void client.destroy();
    const server = connect(this.#target, '127.0.0.1');
    const link = { client, server };
    this.#links.add(link);
    const end = () => this.#end(link);
    for (const socket of [client, server]) socket.setNoDelay(true).on('error', end).on('close', end);
    const requests = new FrameReader(2 ** 24);
    const replies = new FrameReader(2 ** 24);
    let losing = false;
    client.on('data', (chunk: Buffer) => {
      if (this.#mode === 'silent' || this.#mode === 'one-way') return;
      // The first frame is the handshake: without a header, and longer than the two numbers that are read here.
      const frames = this.#readable ? requests.push(chunk) : [];
      for (const frame of frames) {
        this.#count(frame);
        losing ||= this.#springsAt(frame);
      }
      if (losing && this.#trap?.swallow) {
        this.#trap.sprung();
        this.#trap = undefined;
        losing = false;
        return;
      }
      server.write(chunk);
    });
    server.on('data', (chunk: Buffer) => {
      if (this.#mode === 'silent') return;
      const kept = this.#readable ? this.#upToLastEvent(replies.push(chunk)) : undefined;
      if (kept !== undefined) return void client.end(kept, end);
      if (!losing) return void client.write(chunk);
      this.#trap?.sprung();
      this.#trap = undefined;
      end();
    });
  }

  /** The frames up to the event behind which the connection is to end, if it is among them. */
  #upToLastEvent(frames: Iterable<Buffer>): Buffer | undefined {
    const all = [...frames];
    const { path, sent } = this.#lastEvent ?? {};
    const last = all.findIndex((frame) => frame.readInt32BE(0) === EVENT_XID && frame.includes(path ?? ''));
    if (path === undefined || last < 0) return undefined;
    this.#lastEvent = undefined;
    sent?.();
    return Buffer.concat(all.slice(0, last + 1).flatMap((frame) => [lengthOf(frame), frame]));
  }

  #count(frame: Buffer): void {
    if (frame.readInt32BE(0) <= 0) return;
    this.#requests++;
    if (this.#counted !== undefined && this.#requests >= this.#counted.at) this.#counted.reached();
  }

  #springsAt(frame: Buffer): boolean {
    if (this.#trap === undefined || frame.readInt32BE(0) <= 0) return false;
    return frame.readInt32BE(4) === this.#trap.operation && frame.includes(this.#trap.text);
  }

  #end(link: Link): void {
    this.#links.delete(link);
    link.client.destroy();
    link.server.destroy();
  }

  #endAll(): void {
    for (const link of this.#links) this.#end(link);
  }
}
