import type { Environment } from '../../platform/injected-environment.js';
import { afterPendingInput, type Timer } from '../../platform/time/clock.js';
import { type MachineInstant, machineInstantIn } from '../../platform/time/machine-instant.js';
import { openTransport, type Transport } from '../connection/transport.js';
import { FrameFilter } from './frame-filter.js';
import { type Given, Repeater } from './heartbeat-repeater.js';
import { type Introduced, Introduction } from './introduction.js';
import { type FromThread, type Opening, type SentError, toSent } from './messages.js';
import { looksEveryMs, StallWatch } from './stall-watch.js';
import { inOrder, StandIn } from './stand-in.js';

/** What a connection needs of its thread. */
export interface HeldConnectionPort {
  /** The machine's, because leases count by its clocks. */
  readonly environment: Pick<Environment, 'clock' | 'openSocket' | 'random'>;
  extend(cell: SharedArrayBuffer, until: MachineInstant): void;
  post(message: FromThread, transferred?: ArrayBuffer[]): void;
}

/**
 * `open`: the socket is there, or its end hasn't been reported yet. `lost`: another connection stands in for it, until the main thread
 * destroys it. The error is reported with the end, because the main thread gives the connection up when it gets it.
 */
type State =
  | { readonly name: 'open' }
  | { readonly name: 'lost'; readonly standIn: StandIn; readonly error: SentError | undefined }
  | { readonly name: 'ended' };

/**
 * One connection as the thread holds it: a socket, the filter of what arrives, and the repeater, which sends the newest heartbeat of the
 * main thread while that one stands still. If the socket is lost, another connection may stand in for it until the main thread destroys it.
 */
export class HeldConnection {
  readonly #id: number;
  readonly #port: HeldConnectionPort;
  readonly #socket: Transport['socket'];
  readonly #watch: StallWatch;
  readonly #looksEveryMs: number;
  readonly #repeater: Repeater;
  readonly #filter: FrameFilter;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY; // When the timer is due.
  #silence: Timer | undefined; // While an answer is outstanding, and nothing arrives.
  readonly #opening: Opening;
  readonly #introduction = new Introduction();
  #state: State = { name: 'open' };

  /** @throws the error of Node's TLS, if it refuses the options */
  constructor(id: number, opening: Opening, port: HeldConnectionPort) {
    const { endpoint, tls, maxStallMs, turns } = opening;
    this.#id = id;
    this.#opening = opening;
    this.#port = port;
    this.#watch = new StallWatch(turns, port.environment.clock.sources);
    this.#looksEveryMs = looksEveryMs(maxStallMs);
    this.#repeater = new Repeater({
      now: () => this.#now(),
      instantIn: (ms) => machineInstantIn(() => ms, port.environment.clock.sources),
      write: (frame) => void (this.#state.name === 'lost' ? this.#state.standIn : this.#socket).write(frame),
      extend: port.extend,
      answered: (tookMs) => port.post({ kind: 'answered', id, tookMs }),
      repeated: (answer) => port.post({ kind: 'repeated', id, answer }),
    });
    this.#filter = new FrameFilter({
      handlingOf: (xid) => this.#repeater.handlingOf(xid),
      pass: (bytes) => this.#pass(bytes),
      show: (frame) => this.#repeater.show(frame),
      showFirst: (frame) => this.#introduction.answered(frame),
      unreadable: () => this.#repeater.unreadable(),
    });
    const { socket, ready, incoming } = openTransport(endpoint, port.environment, tls);
    this.#socket = socket;
    if (incoming !== undefined) incoming.reader = { read: (bytes) => this.#read(bytes) };
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.once(ready, () => port.post({ kind: 'connected', id }));
    let error: SentError | undefined;
    socket.on('error', (first) => {
      error ??= toSent(first);
    });
    socket.on('close', () => this.#lose(error));
  }

  write(bytes: Uint8Array): void {
    if (this.#state.name !== 'open') return;
    const frames = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#introduction.writing(frames);
    this.#repeater.writing(frames);
    this.#socket.write(frames);
    this.#arm();
  }

  give(given: Given | undefined): void {
    if (this.#state.name === 'ended') return;
    this.#repeater.give(given);
    this.#arm();
  }

  destroy(): void {
    this.#repeater.give(undefined);
    this.#socket.destroy();
    if (this.#state.name === 'lost') this.#end(this.#state.error);
  }

  #now(): number {
    return this.#port.environment.clock.now();
  }

  #read(bytes: Buffer): void {
    if (this.#state.name !== 'open') return;
    this.#filter.push(bytes);
    this.#heard();
  }

  #heard(): void {
    this.#silence?.clear();
    this.#silence = undefined;
    this.#arm();
  }

  /** The link is dead, though it doesn't end. */
  #cut(ms: number): void {
    this.#silence = undefined;
    if (this.#repeater.answerWithinMs === undefined) return; // The main thread has withdrawn what it gave.
    if (this.#state.name === 'lost') return this.#state.standIn.leaveServer();
    this.#socket.destroy();
    this.#lose(toSent(new Error(`no reply to a heartbeat within ${Math.round(ms)} ms: the link is dead`)));
  }

  #lose(error: SentError | undefined): void {
    if (this.#state.name !== 'open') return;
    this.#silence?.clear();
    this.#silence = undefined;
    this.#filter.end();
    const times = this.#repeater.continued; // Nothing, if the main thread has destroyed the socket.
    if (times === undefined || this.#introduce() === undefined) return this.#end(error);
    const { endpoint, servers, tls } = this.#opening;
    const { environment } = this.#port;
    const standIn = new StandIn({
      environment,
      tls,
      servers: inOrder(servers, endpoint.server, environment.random()),
      times,
      introduce: () => this.#introduce(),
      introducing: () => this.#port.post({ kind: 'stands-in', id: this.#id }),
      serves: () => {
        this.#repeater.reconnected();
        this.#look();
      },
      answered: (xid, frame) => {
        if (this.#repeater.handlingOf(xid) === 'keep') this.#repeater.show(frame);
        this.#heard();
      },
    });
    this.#state = { name: 'lost', standIn, error };
    this.#port.post({ kind: 'lost', id: this.#id });
  }

  /** What another server may be shown in place of the main thread. */
  #introduce(): Introduced | undefined {
    if (this.#opening.servers.length === 0) return undefined;
    if (this.#repeater.continued === undefined || !this.#watch.turns()) return undefined;
    return this.#introduction.frames(this.#repeater.lastZxid);
  }

  #end(error: SentError | undefined): void {
    if (this.#state.name === 'lost') this.#state.standIn.end();
    this.#state = { name: 'ended' };
    this.#repeater.give(undefined);
    this.#timer?.clear();
    this.#silence?.clear();
    if (error !== undefined) this.#port.post({ kind: 'failed', id: this.#id, error });
    this.#port.post({ kind: 'closed', id: this.#id });
  }

  /** Looks at the counter now and then, and sends a heartbeat when it is due. */
  #arm(): void {
    if (!this.#canSend) return;
    const silentMs = this.#repeater.answerWithinMs;
    if (silentMs !== undefined)
      this.#silence ??= afterPendingInput(this.#port.environment.clock, silentMs, () => this.#cut(silentMs));
    const now = this.#now();
    this.#armFor(Math.min(now + this.#looksEveryMs, Math.max(now, this.#repeater.dueAt)), now);
  }

  /** A timer that is due earlier keeps running, and then finds out what is due. */
  #armFor(at: number, now: number): void {
    if (this.#timerAt <= at) return;
    this.#timer?.clear();
    this.#timerAt = at;
    this.#timer = this.#port.environment.clock.after(at - now, () => this.#look());
  }

  #look(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    if (!this.#canSend) return;
    const now = this.#now();
    const mainTurns = this.#watch.turns();
    this.#repeater.beat(mainTurns);
    if (mainTurns) this.#arm();
    else this.#armFor(now + this.#looksEveryMs, now);
  }

  /** While it can't, nothing becomes due by time. A stand-in that serves sends at once. */
  get #canSend(): boolean {
    const state = this.#state;
    return this.#repeater.isOn && (state.name === 'open' || (state.name === 'lost' && state.standIn.serves));
  }

  /** In memory of its own, because a small buffer shares its memory with others, and all of it would be sent. */
  #pass(bytes: Buffer): void {
    const copy = new Uint8Array(bytes);
    this.#port.post({ kind: 'data', id: this.#id, bytes: copy }, [copy.buffer]);
  }
}
