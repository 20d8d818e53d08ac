import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { FrameReader } from '../../../src/wire/frames.js';
import type { Way } from './schedule.js';

const LARGEST_FRAME = 2 ** 24;
/** ZooKeeper's operations that write: a create, and a transaction, as heartbeats, claims and releases are. */
const WRITES = new Set([1, 14]);

/** What was read from one end, on its way to the other. */
interface Parcel {
  readonly dueAt: number;
  readonly chunk: Buffer | 'end';
}

/**
 * One direction of a connection. While it is cut it takes nothing more from the sender, whose own system's buffers fill up;
 * what was sent meanwhile comes late, when it is whole again, as it does when TCP has lost packets and repeats them.
 */
class Direction {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #link: Link;
  readonly #way: 'there' | 'back';
  #parcels: Parcel[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, link: Link, way: 'there' | 'back') {
    this.#from = from;
    this.#to = to;
    this.#link = link;
    this.#way = way;
    from.on('data', (chunk) => this.#take(chunk));
    // The other end learns of it as late as of the bytes before it.
    from.on('close', () => this.#take('end'));
  }

  #take(chunk: Buffer | 'end'): void {
    this.#parcels.push({ dueAt: performance.now() + this.#link.delayMs, chunk });
    this.pass();
  }

  /** Hands on what is due, if it may. */
  pass(): void {
    clearTimeout(this.#timer);
    const isCut = this.#link.isCut(this.#way);
    if (isCut) this.#from.pause();
    else this.#from.resume();
    while (!isCut && this.#parcels.length > 0) {
      const [{ dueAt, chunk }] = this.#parcels as [Parcel];
      const ms = dueAt - performance.now();
      if (ms > 0) {
        this.#timer = setTimeout(() => this.pass(), ms);
        return;
      }
      this.#parcels.shift();
      if (chunk === 'end') this.#to.destroy();
      else this.#to.write(chunk);
    }
  }

  drop(): void {
    clearTimeout(this.#timer);
    this.#parcels = [];
    this.#from.destroy();
    this.#to.destroy();
  }
}

/** A worker's way to one server: a proxy, and what can be wrong with a network. Several faults at once are of no harm. */
export class Link {
  readonly #listener: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #directions = new Set<Direction>();
  readonly #cuts = { there: 0, back: 0 };
  #refusals = 0;
  /** How long everything is under way. */
  delayMs = 0;
  #losesReply = false;
  #onLost: (() => void) | undefined;

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#target = target;
    this.#listener = createServer((client) => this.#accept(client));
  }

  static async open(target: { readonly host: string; readonly port: number }): Promise<Link> {
    const link = new Link(target);
    await new Promise<void>((resolve, reject) => {
      link.#listener.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    return link;
  }

  get connectString(): string {
    return `127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  isCut(way: 'there' | 'back'): boolean {
    return this.#cuts[way] > 0;
  }

  /** Lets nothing through, and says so to nobody, until what it gives is called. */
  cut(way: Way): () => void {
    const ways = way === 'both' ? (['there', 'back'] as const) : ([way] as const);
    for (const each of ways) this.#cuts[each]++;
    this.#passAll();
    return () => {
      for (const each of ways) this.#cuts[each]--;
      this.#passAll();
    };
  }

  /** Ends all connections, and takes no new ones until what it gives is called. */
  refuse(): () => void {
    this.#refusals++;
    for (const direction of this.#directions) direction.drop();
    return () => {
      this.#refusals--;
    };
  }

  slow(ms: number): () => void {
    this.delayMs = ms;
    return () => {
      this.delayMs = 0;
    };
  }

  /** Ends the connection over which the next write goes when the server has carried that out, without its reply. */
  loseReply(onLost: () => void): () => void {
    this.#losesReply = true;
    this.#onLost = onLost;
    return () => {
      this.#losesReply = false;
    };
  }

  async close(): Promise<void> {
    for (const direction of this.#directions) direction.drop();
    await new Promise<void>((resolve) => this.#listener.close(() => resolve()));
  }

  #passAll(): void {
    for (const direction of this.#directions) direction.pass();
  }

  #accept(client: Socket): void {
    if (this.#refusals > 0) return void client.destroy();
    const server = connect(this.#target);
    for (const socket of [client, server]) socket.setNoDelay(true).on('error', () => socket.destroy());
    const directions = [
      new Direction(client, server, this, 'there'),
      new Direction(server, client, this, 'back'),
    ];
    for (const direction of directions) {
      this.#directions.add(direction);
      direction.pass();
    }
    const dropAll = () => {
      for (const direction of directions) direction.drop();
    };
    this.#setTrap(client, server, dropAll);
    let open = directions.length;
    for (const socket of [client, server]) {
      socket.once('close', () => {
        if (--open > 0) return;
        for (const direction of directions) this.#directions.delete(direction);
      });
    }
  }

  #setTrap(client: Socket, server: Socket, spring: () => void): void {
    const requests = new FrameReader(LARGEST_FRAME);
    let isSprung = false;
    client.on('data', (chunk: Buffer) => {
      // The first frame is the handshake: without a header, and longer than the two numbers that are read here.
      for (const frame of requests.push(chunk)) {
        if (!this.#losesReply || isSprung || frame.length < 8 || frame.readInt32BE(0) <= 0) continue;
        isSprung = WRITES.has(frame.readInt32BE(4));
      }
    });
    // Before the direction's own listener, which would hand the reply on.
    server.prependListener('data', () => {
      if (!isSprung || !this.#losesReply) return;
      this.#losesReply = false;
      this.#onLost?.();
      spring();
    });
  }
}
