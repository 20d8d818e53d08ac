import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { SharedLease } from '../../../src/lease/shared-lease.js';
import type { Server as Address } from '../../../src/platform/injected-environment.js';
import type { MachineInstant } from '../../../src/platform/time/machine-instant.js';
import { HeldConnections } from '../../../src/session/connection-thread/held-connection.js';
import type { FromThread, ToThread } from '../../../src/session/connection-thread/thread-messages.js';
import type { Random } from '../../support/seeded-random.js';
import type { Machine } from '../machine.js';
import type { Wire } from '../model/socket.js';
import type { Scheduler } from '../scheduler.js';
import type { SimulatedEnvironment } from './environment.js';

const STARTS_WITHIN_MS = [5, 60] as const;

/** One direction of the port between two threads of a process: messages arrive in their order, after any time. */
class Port {
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #lastAt = 0;
  /** How much longer each message takes than usual, in milliseconds. */
  slowBy = 0;

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler;
    this.#random = random;
  }

  /** Whether messages take longer than usual, or still have to arrive. */
  get isLate(): boolean {
    return this.slowBy > 0 || this.#lastAt > this.#scheduler.now;
  }

  send(from: Machine, to: Machine, arrive: () => void): void {
    const random = this.#random.next();
    const delayMs = 0.01 + 0.3 * random + this.slowBy * (0.5 + random);
    this.#lastAt = Math.max(this.#lastAt, this.#scheduler.now + from.sendsLaterByMs + delayMs);
    this.#scheduler.at(this.#lastAt, () => to.receive(arrive));
  }
}

/**
 * As `structuredClone` copies a message, which would take longer than all that the message causes.
 * @param transferred - the memory that goes over to the other thread, and isn't copied
 */
function copyOf<T>(value: T, transferred: readonly ArrayBuffer[]): T {
  if (typeof value === 'function') throw new TypeError('a function cannot be cloned');
  if (typeof value !== 'object' || value === null || value instanceof SharedArrayBuffer) return value;
  if (value instanceof Uint8Array)
    return transferred.some((each) => each === value.buffer) ? value : (new Uint8Array(value) as T);
  if (Array.isArray(value)) return value.map((each) => copyOf(each, transferred)) as T;
  const copy = { ...value } as Record<string, unknown>;
  for (const name in copy) {
    const part = copy[name];
    if (typeof part === 'object' || typeof part === 'function') copy[name] = copyOf(part, transferred);
  }
  return copy as T;
}

/**
 * The thread that holds the connections of a process, as its host has it: a `Worker`. It runs the shipped code of that thread on an event
 * loop of its own, which goes on while the main thread stands still.
 */
export class SimulatedThread extends EventEmitter {
  readonly machine: Machine;
  readonly #main: Machine;
  readonly #environment: SimulatedEnvironment;
  readonly #wires = new Set<Wire>();
  readonly #down: Port;
  readonly #up: Port;
  #connections: HeldConnections | undefined;
  #early: ToThread[] = [];
  #hasEnded = false;

  constructor(environment: SimulatedEnvironment, scheduler: Scheduler, random: Random) {
    super();
    const { clock } = environment;
    this.#main = clock;
    this.#environment = environment;
    this.machine = clock.newThread('connections');
    this.#down = new Port(scheduler, random);
    this.#up = new Port(scheduler, random);
    const openSocket = (server: Address) => {
      const wire = environment.openWire(this.machine, server);
      this.#wires.add(wire);
      return wire.socket as unknown as Socket;
    };
    const begin = () => {
      this.#connections = new HeldConnections({
        environment: { clock: this.machine, openSocket },
        proved: (lease, sentAt) => this.proved(lease, sentAt),
        post: (message, transferred) => this.#post(message, transferred),
      });
      this.#post({ kind: 'here' });
      for (const message of this.#early) this.#connections.take(message);
      this.#early = [];
    };
    scheduler.after(random.between(...STARTS_WITHIN_MS), () => this.machine.receive(begin));
  }

  /** A proof that was sent then is committed. */
  proved(lease: SharedArrayBuffer, sentAt: MachineInstant): void {
    new SharedLease(lease, this.machine.sources).proved(sentAt);
    this.#environment.onExtended(sentAt);
  }

  // ---- what its host calls ----

  postMessage(message: ToThread, transferred: readonly ArrayBuffer[] = []): void {
    const copy = copyOf(message, transferred);
    this.#down.send(this.#main, this.machine, () => {
      if (this.#connections === undefined) this.#early.push(copy);
      else this.#connections.take(copy);
    });
  }

  ref(): void {
    // The simulation looks for what keeps a process running by itself.
  }

  unref(): void {
    // As `ref`.
  }

  terminate(): Promise<number> {
    this.#end();
    return Promise.resolve(1);
  }

  // ---- what goes wrong ----

  /** Whether its host may have to wait for it. */
  get isLate(): boolean {
    return !this.#hasEnded && (this.machine.isFrozen || this.#down.isLate || this.#up.isLate);
  }

  /** It fails. The system closes its connections. */
  die(): void {
    if (this.#hasEnded) return;
    this.#end();
    const tell = () => {
      this.emit('error', new Error('out of memory'));
      this.emit('exit', 1);
    };
    this.#up.send(this.#main, this.#main, tell);
  }

  /** Messages between the threads take longer. Returns a function that ends this. */
  slow(byMs: number): () => void {
    for (const port of [this.#down, this.#up]) port.slowBy = byMs;
    return () => {
      for (const port of [this.#down, this.#up]) port.slowBy = 0;
    };
  }

  /** All works again. */
  heal(): void {
    this.machine.endStall();
    for (const port of [this.#down, this.#up]) port.slowBy = 0;
  }

  #post(message: FromThread, transferred: readonly ArrayBuffer[] = []): void {
    const copy = copyOf(message, transferred);
    this.#up.send(this.machine, this.#main, () => {
      if (!this.#hasEnded) this.emit('message', copy);
    });
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.machine.kill();
    for (const wire of this.#wires) if (wire.socket.isOpen) wire.socket.destroy();
  }
}
