import type { Environment } from '../../platform/injected-environment.js';
import type { Timer } from '../../platform/time/clock.js';
import { type MachineInstant, machineInstantIn } from '../../platform/time/machine-instant.js';
import { openTransport, type Transport } from '../connection/tcp-and-tls.js';
import { FrameFilter } from './frame-filter.js';
import { type Given, HeartbeatRepeater } from './heartbeat-repeater.js';
import { looksEveryMs, StallWatch } from './stall-watch.js';
import { type FromThread, type Opening, type ToThread, toSent } from './thread-messages.js';

/** What a connection needs of its thread. */
export interface HeldConnectionPort {
  /** The machine's, because leases count by its clocks. */
  readonly environment: Pick<Environment, 'clock' | 'openSocket'>;
  proved(lease: SharedArrayBuffer, sentAt: MachineInstant): void;
  post(message: FromThread, transferred?: ArrayBuffer[]): void;
}

/**
 * One connection as the thread holds it: a socket, the filter of what arrives, and the repeater, which sends the newest heartbeat of the
 * main thread while that one stands still. It ends with its socket, and the main thread alone opens the next one.
 */
export class HeldConnection {
  readonly #id: number;
  readonly #port: HeldConnectionPort;
  readonly #socket: Transport['socket'];
  readonly #watch: StallWatch;
  readonly #looksEveryMs: number;
  readonly #repeater: HeartbeatRepeater;
  readonly #filter: FrameFilter;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY; // When the timer is due.
  #hasEnded = false;

  /** @throws the error of Node's TLS, if it refuses the options */
  constructor(id: number, { endpoint, tls, maxStallMs, turns }: Opening, port: HeldConnectionPort) {
    this.#id = id;
    this.#port = port;
    this.#watch = new StallWatch(turns, port.environment.clock.sources);
    this.#looksEveryMs = looksEveryMs(maxStallMs);
    this.#repeater = new HeartbeatRepeater({
      now: () => this.#now(),
      instant: () => {
        const instant = machineInstantIn(() => 0, port.environment.clock.sources);
        // This thread may have stood still itself, with a heartbeat of the main thread in its queue.
        return this.#watch.turns() ? instant : undefined;
      },
      write: (frame) => void this.#socket.write(frame),
      proved: port.proved,
      answered: (tookMs) => port.post({ kind: 'answered', id, tookMs }),
      repeated: (answer) => port.post({ kind: 'repeated', id, answer }),
    });
    this.#filter = new FrameFilter({
      handlingOf: (xid) => this.#repeater.handlingOf(xid),
      pass: (bytes) => this.#pass(bytes),
      show: (frame) => this.#repeater.show(frame),
      unreadable: () => this.#repeater.unreadable(),
    });
    const { socket, ready, incoming } = openTransport(endpoint, port.environment, tls);
    this.#socket = socket;
    if (incoming !== undefined) incoming.reader = { read: (bytes) => this.#read(bytes) };
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.once(ready, () => port.post({ kind: 'connected', id }));
    socket.on('error', (error) => port.post({ kind: 'failed', id, error: toSent(error) }));
    socket.on('close', () => this.#end());
  }

  write(bytes: Uint8Array): void {
    if (this.#hasEnded) return;
    const frames = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#repeater.writing(frames);
    this.#socket.write(frames);
    this.#arm();
  }

  give(given: Given | undefined): void {
    if (this.#hasEnded) return;
    this.#repeater.give(given);
    this.#arm();
  }

  destroy(): void {
    this.#repeater.give(undefined);
    this.#socket.destroy();
  }

  #now(): number {
    return this.#port.environment.clock.now();
  }

  #read(bytes: Buffer): void {
    if (this.#hasEnded) return;
    this.#filter.push(bytes);
    this.#arm();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#timer?.clear(); // Nothing sets it again: no heartbeat follows.
    this.#filter.end();
    this.#port.post({ kind: 'closed', id: this.#id });
  }

  /** Looks at the counter now and then, and sends a heartbeat when it is due. */
  #arm(): void {
    if (!this.#repeater.isOn) return;
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
    if (!this.#repeater.isOn) return;
    const now = this.#now();
    const mainTurns = this.#watch.turns();
    this.#repeater.beat(mainTurns);
    if (mainTurns) this.#arm();
    else this.#armFor(now + this.#looksEveryMs, now);
  }

  /** In memory of its own, because a small buffer shares its memory with others, and all of it would be sent. */
  #pass(bytes: Buffer): void {
    const copy = new Uint8Array(bytes);
    this.#port.post({ kind: 'data', id: this.#id, bytes: copy }, [copy.buffer]);
  }
}

/** The connections that a thread holds. It does what the messages of the main thread ask for. */
export class HeldConnections {
  readonly #port: HeldConnectionPort;
  readonly #connections = new Map<number, HeldConnection>();

  constructor(port: HeldConnectionPort) {
    this.#port = {
      ...port,
      post: (message, transferred) => {
        if (message.kind === 'closed') this.#connections.delete(message.id);
        port.post(message, transferred);
      },
    };
  }

  take(message: ToThread): void {
    switch (message.kind) {
      case 'open':
        return this.#open(message);
      case 'write':
        return this.#connections.get(message.id)?.write(message.bytes);
      case 'give':
        return this.#connections.get(message.id)?.give(message.given);
      case 'destroy':
        return this.#connections.get(message.id)?.destroy();
      case 'ask':
        return this.#port.post({ kind: 'here' });
    }
  }

  #open(message: ToThread & { kind: 'open' }): void {
    const { id, kind: _, ...opening } = message;
    try {
      this.#connections.set(id, new HeldConnection(id, opening, this.#port));
    } catch (error) {
      this.#port.post({ kind: 'failed', id, error: toSent(error) });
      this.#port.post({ kind: 'closed', id });
    }
  }
}
