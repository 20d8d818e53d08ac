import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { WireWriter } from '../../wire/jute.js';
import { Faults } from '../controls/faults.js';
import { TestClock } from '../controls/test-clock.js';
import { PASSWORD_BYTES } from '../protocol/op-codes.js';
import { TRAITS } from '../state/dialects.js';
import { type Moment, type Security, StateMachine } from '../state/state-machine.js';
import {
  ClientConnection,
  type ConnectionHost,
  type ServerObserver,
  type Traffic,
} from './client-connection.js';
import type { ResolvedEmbeddedOptions } from './embedded-options.js';
import { answerWord, type ServerStatus } from './four-letter-words.js';

const BACKLOG = 4096; // How many connections may wait to be accepted: a test opens thousands at once.
const NONCE_BYTES = 30; // As in Java.
const CONTAINER_SWEEP_MS = 60_000;

/** Sockets, timers and faults around a {@link StateMachine}. */
export class EmbeddedServer implements ConnectionHost, ServerStatus {
  /** Replaced by another one when the data are lost. */
  stateMachine: StateMachine;
  readonly faults = new Faults();
  readonly security: Security;
  readonly clock: Clock;
  readonly writer = new WireWriter();
  readonly traffic: Traffic = { received: 0, sent: 0 };
  readonly connections = new Set<ClientConnection>();
  readonly #options: ResolvedEmbeddedOptions;
  readonly observer: ServerObserver;
  readonly #net: NetServer;
  readonly #startedAtMs: number;
  /** 0 before it listens. */
  port = 0;
  #timer: Timer | undefined;
  #sweptAtMs: number;

  constructor(options: ResolvedEmbeddedOptions, observer: ServerObserver) {
    this.#options = options;
    this.observer = observer;
    this.clock = options.clock;
    this.security = { users: options.saslUsers, required: options.requireAuth };
    this.#startedAtMs = this.#sweptAtMs = this.clock.now();
    this.stateMachine = this.#newStateMachine(firstSessionId(this.clock.date()));
    this.#net = createServer((socket) => this.#accept(socket));
  }

  #newStateMachine(first: bigint): StateMachine {
    const traits = TRAITS[this.#options.dialect];
    return new StateMachine({
      ...this.#options,
      firstSessionId: first,
      newPassword: () =>
        traits.resumesSessions ? randomBytes(PASSWORD_BYTES) : Buffer.alloc(PASSWORD_BYTES),
      newNonce: () => randomBytes(NONCE_BYTES).toString('base64'),
      security: this.security,
      traits,
    });
  }

  /** Listens on the former port, if there was one. @throws the system's error if the port is taken */
  async listen(): Promise<void> {
    const { host } = this.#options;
    const port = this.port === 0 ? this.#options.port : this.port;
    this.#net.listen({ host, port, backlog: BACKLOG });
    await once(this.#net, 'listening');
    this.port = (this.#net.address() as AddressInfo).port;
  }

  /** All sessions get their whole timeout again: no client could send anything while there was no server. */
  async reopen(): Promise<void> {
    await this.listen();
    const nowMs = this.clock.now();
    for (const session of this.stateMachine.sessions.values())
      this.stateMachine.sessions.touch(session, nowMs);
    this.#watchExpiry();
  }

  /** Drops all data, while it doesn't listen. Session ids are never used again. */
  loseData(): void {
    const first = firstSessionId(this.clock.date());
    const { nextSessionId } = this.stateMachine;
    this.stateMachine = this.#newStateMachine(first > nextSessionId ? first : nextSessionId);
  }

  /** Ends every connection and stops listening. The data stay. */
  close(): Promise<void> {
    this.#stopWatchingExpiry();
    for (const connection of this.connections) connection.destroy();
    return new Promise((resolve) => this.#net.close(() => resolve()));
  }

  moment(): Moment {
    return { nowMs: this.clock.now(), timeMs: this.clock.date().getTime() };
  }

  /** The faults have changed: connections may go on. */
  faultsChanged(): void {
    for (const connection of this.connections) {
      connection.healed();
      connection.updateFlow();
    }
    this.#watchExpiryAfterReading();
  }

  answerWord(word: string): string | undefined {
    return answerWord(word, this);
  }

  connected(): void {
    if (this.#timer === undefined) this.#watchExpiry();
  }

  #accept(socket: Socket): void {
    if (this.faults.refusing) {
      socket.on('error', () => undefined).destroy();
      return;
    }
    if (this.clock instanceof TestClock) this.clock.watch(socket);
    const connection = new ClientConnection(socket, this);
    this.connections.add(connection);
    socket.once('close', () => this.connections.delete(connection));
  }

  /** No session ends while the server is paused or down. */
  get #ticks(): boolean {
    return !this.faults.paused && this.#net.listening;
  }

  /** Checks the sessions at the next tick, as long as there are any. */
  #watchExpiry(): void {
    this.#stopWatchingExpiry();
    if (!this.#ticks || this.stateMachine.sessions.size === 0) return;
    const nowMs = this.clock.now();
    const dueMs = this.stateMachine.sessions.nextTickMs(nowMs);
    this.#timer = this.clock.after(dueMs - nowMs, () => this.#tick(dueMs), { background: true });
  }

  /** The same, after all sockets were read: the event loop reads them between a timer and another one that it sets. */
  #watchExpiryAfterReading(): void {
    this.#stopWatchingExpiry();
    if (!this.#ticks) return;
    const tick = () => this.#tick(this.clock.now());
    const again = () => {
      this.#timer = this.clock.after(0, tick, { background: true });
    };
    this.#timer = this.clock.after(0, again, { background: true });
  }

  #stopWatchingExpiry(): void {
    this.#timer?.clear();
    this.#timer = undefined;
  }

  /**
   * Ends expired sessions. If the tick is late, this process was suspended: what clients sent meanwhile is still in the
   * sockets, and is read before a session expires for a silence of this process itself.
   */
  #tick(dueMs: number): void {
    if (this.clock.now() - dueMs > this.#options.tickMs) return this.#watchExpiryAfterReading();
    const moment = this.moment();
    this.stateMachine.expire(moment);
    if (moment.nowMs - this.#sweptAtMs >= CONTAINER_SWEEP_MS) {
      this.#sweptAtMs = moment.nowMs;
      this.stateMachine.sweepContainers(moment);
    }
    this.#watchExpiry();
  }

  get uptimeMs(): number {
    return this.clock.now() - this.#startedAtMs;
  }
}

/** As in ZooKeeper: made from the time of day, so that the ids of different servers and runs differ. */
function firstSessionId(date: Date): bigint {
  return (BigInt.asUintN(40, BigInt(date.getTime())) << 16n) | 1n;
}
