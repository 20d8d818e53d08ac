import type { Environment, Server } from '../../platform/injected-environment.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import type { Timer } from '../../platform/time/clock.js';
import { FrameReader } from '../../wire/frames.js';
import { openTransport, type TlsOptions, type Transport } from '../connection/transport.js';
import {
  AUTH_XID,
  decodeReply,
  MAX_FRAME_BYTES,
  MAX_HANDSHAKE_REPLY_BYTES,
} from '../protocol/frame-layout.js';
import { type Introduced, isResumedBy } from './introduction.js';

const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [25, 1000];

/** How long the thread waits for the main thread to hear of a loss, before it connects itself. */
export function standsInAfterMs({ leaseMs }: { readonly leaseMs: number }): number {
  return leaseMs / 16;
}

/** How long one try may take in the `round`th round (from 0): so short at first that another server is tried within the lease. */
export function tryMs(
  round: number,
  { leaseMs, sessionTimeoutMs }: { readonly leaseMs: number; readonly sessionTimeoutMs: number },
): number {
  return Math.min((leaseMs / 4) * 2 ** round, sessionTimeoutMs / 3);
}

/** The servers in the order to try them: the one whose connection was lost comes last. The others begin anywhere. */
export function inOrder(servers: readonly Server[], lost: Server, random: number): readonly Server[] {
  const others = servers.filter(({ host, port }) => host !== lost.host || port !== lost.port);
  const first = Math.floor(random * others.length);
  return [...others.slice(first), ...others.slice(0, first), lost];
}

/** What the stand-in needs of the lost connection. */
export interface StandInPort {
  readonly environment: Pick<Environment, 'clock' | 'openSocket' | 'random'>;
  readonly tls: TlsOptions | undefined;
  readonly servers: readonly Server[];
  readonly times: { readonly leaseMs: number; readonly sessionTimeoutMs: number };
  /** The frames for the next server; `undefined` if the thread may not go on in place of the main thread. */
  introduce(): Introduced | undefined;
  /** A handshake is about to be written: from now on a server may have the session. */
  introducing(): void;
  /** A server serves the session. Requests may be written. */
  serves(): void;
  /** The answer to a request, without its length. */
  answered(xid: number, frame: Buffer): void;
}

/** A connection to one server. */
interface Try {
  readonly socket: Transport['socket'];
  readonly shown: Introduced;
  readonly frames: FrameReader;
  /** Ends it, unless the server serves by then. */
  readonly limit: Timer;
}

/** `over`: it was ended, or the session has expired, or the server refuses the credentials. */
type State =
  | { readonly name: 'waits'; readonly timer: Timer }
  | { readonly name: 'tries' | 'serves'; readonly by: Try }
  | { readonly name: 'over' };

/**
 * Connects to one server after the other with the session's id and password, in place of a main thread that stands still. The main
 * thread's next connection mustn't begin before it has ended.
 */
export class StandIn {
  readonly #port: StandInPort;
  #tries = 0;
  #state: State;

  constructor(port: StandInPort) {
    this.#port = port;
    this.#state = this.#waits(standsInAfterMs(port.times));
  }

  get serves(): boolean {
    return this.#state.name === 'serves';
  }

  write(frame: Buffer): void {
    if (this.#state.name === 'serves') this.#state.by.socket.write(frame);
  }

  /** The server that serves is silent. */
  leaveServer(): void {
    if (this.#state.name === 'serves') this.#state.by.socket.destroy();
  }

  end(): void {
    const state = this.#state;
    this.#state = { name: 'over' };
    if (state.name === 'waits') state.timer.clear();
    else if (state.name !== 'over') state.by.socket.destroy();
  }

  #waits(ms: number): State {
    return { name: 'waits', timer: this.#port.environment.clock.after(ms, () => this.#try()) };
  }

  get #round(): number {
    return Math.floor(this.#tries / this.#port.servers.length);
  }

  #try(): void {
    const { environment, servers, tls, times } = this.#port;
    const shown = this.#port.introduce();
    if (shown === undefined) return this.end();
    const server = servers[this.#tries % servers.length] as Server;
    const limitMs = tryMs(this.#round, times);
    this.#tries++;
    // The system looks up the name in the background, and Node tries all addresses.
    const { socket, ready, incoming } = openTransport({ server, address: server.host }, environment, tls);
    const limit = environment.clock.after(limitMs, () => void socket.destroy());
    const by: Try = { socket, shown, frames: new FrameReader(MAX_HANDSHAKE_REPLY_BYTES), limit };
    this.#state = { name: 'tries', by };
    const read = (bytes: Buffer) => this.#read(by, bytes);
    if (incoming !== undefined) incoming.reader = { read };
    socket.on('data', read);
    socket.on('error', () => undefined); // `close` follows.
    socket.on('close', () => this.#lost(by));
    socket.once(ready, () => {
      if (!this.#has(by)) return;
      this.#port.introducing();
      socket.write(shown.handshake);
    });
  }

  #has(by: Try): boolean {
    return 'by' in this.#state && this.#state.by === by;
  }

  #read(by: Try, bytes: Buffer): void {
    try {
      for (const frame of by.frames.push(bytes)) {
        if (!this.#has(by)) return;
        if (this.#state.name === 'serves') this.#take(frame);
        else if (isResumedBy(frame, by.shown.handshake)) this.#serve(by);
        else this.end(); // The session has expired. The main thread finds out itself.
      }
    } catch {
      by.socket.destroy(); // It isn't a ZooKeeper server.
    }
  }

  #serve(by: Try): void {
    by.limit.clear();
    by.frames.limit = MAX_FRAME_BYTES;
    for (const each of by.shown.credentials) by.socket.write(each);
    this.#state = { name: 'serves', by };
    this.#port.serves();
  }

  #take(frame: Buffer): void {
    const { xid, errorCode } = decodeReply(frame);
    if (xid !== AUTH_XID) this.#port.answered(xid, frame);
    else if (errorCode !== 0) this.end();
  }

  #lost(by: Try): void {
    by.limit.clear();
    if (!this.#has(by)) return;
    const isRoundOver = this.#tries % this.#port.servers.length === 0;
    const { random } = this.#port.environment;
    this.#state = this.#waits(
      isRoundOver ? jitteredPauseMs(this.#round, random(), FIRST_PAUSE_MS, LONGEST_PAUSE_MS) : 0,
    );
  }
}
