import type { Environment, Server } from '../../platform/injected-environment.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import type { Timer } from '../../platform/time/clock.js';
import { FrameReader } from '../../wire/frames.js';
import { openTransport, type TlsOptions, type Transport } from '../connection/transport.js';
import { MAX_FRAME_BYTES, MAX_HANDSHAKE_REPLY_BYTES } from '../protocol/frame-limits.js';
import { type Introduced, isGrantedBy } from './introduction.js';

const [AUTH_XID, ERROR_OFFSET] = [-4, 12];
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
  answered(frame: Buffer): void;
}

/** `over`: it was ended, or the session has expired, or the server refuses the credentials. */
type State =
  | { readonly name: 'waits'; readonly timer: Timer }
  | { readonly name: 'tries' | 'serves'; readonly socket: Transport['socket'] }
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
    if (this.#state.name === 'serves') this.#state.socket.write(frame);
  }

  end(): void {
    const state = this.#state;
    this.#state = { name: 'over' };
    if (state.name === 'waits') state.timer.clear();
    else if (state.name !== 'over') state.socket.destroy();
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
    this.#state = { name: 'tries', socket };
    const timer = environment.clock.after(limitMs, () => void socket.destroy());
    const read = (bytes: Buffer) => this.#read(socket, frames, bytes, shown.credentials, timer);
    const frames = new FrameReader(MAX_HANDSHAKE_REPLY_BYTES);
    if (incoming !== undefined) incoming.reader = { read };
    socket.on('data', read);
    socket.on('error', () => undefined); // `close` follows.
    socket.on('close', () => {
      timer.clear();
      this.#lost(socket);
    });
    socket.once(ready, () => {
      if (!this.#has(socket)) return;
      this.#port.introducing();
      socket.write(shown.handshake);
    });
  }

  #has(socket: Transport['socket']): boolean {
    return 'socket' in this.#state && this.#state.socket === socket;
  }

  #read(
    socket: Transport['socket'],
    frames: FrameReader,
    bytes: Buffer,
    credentials: readonly Buffer[],
    timer: Timer,
  ): void {
    try {
      for (const frame of frames.push(bytes)) {
        if (!this.#has(socket)) return;
        if (this.#state.name !== 'tries') {
          this.#take(frame);
        } else if (isGrantedBy(frame)) {
          timer.clear();
          frames.limit = MAX_FRAME_BYTES;
          for (const each of credentials) socket.write(each);
          this.#state = { name: 'serves', socket };
          this.#port.serves();
        } else this.end(); // The session has expired. The main thread finds out itself.
      }
    } catch {
      socket.destroy(); // It isn't a ZooKeeper server.
    }
  }

  #take(frame: Buffer): void {
    if (frame.readInt32BE(0) !== AUTH_XID) this.#port.answered(frame);
    else if (frame.readInt32BE(ERROR_OFFSET) !== 0) this.end();
  }

  #lost(socket: Transport['socket']): void {
    if (!this.#has(socket)) return;
    const isRoundOver = this.#tries % this.#port.servers.length === 0;
    const { random } = this.#port.environment;
    this.#state = this.#waits(
      isRoundOver ? jitteredPauseMs(this.#round, random(), FIRST_PAUSE_MS, LONGEST_PAUSE_MS) : 0,
    );
  }
}
