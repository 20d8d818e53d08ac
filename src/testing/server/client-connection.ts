import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { queueMicrotask } from '../../platform/time/timers.js';
import { WireError, WireReader, type WireWriter } from '../../wire/jute.js';
import type { Faults } from '../controls/faults.js';
import type { Identity, WatchNotice } from '../protocol/acl-and-stat.js';
import { ERROR_CODES } from '../protocol/op-codes.js';
import {
  type ReplyParts,
  tokenBody,
  writeConnectReply,
  writeEvent,
  writeReply,
} from '../protocol/replies.js';
import {
  type LoggedOperation,
  type Operation,
  PacketSplitter,
  readConnectRequest,
  readRequest,
} from '../protocol/requests.js';
import type { Client, SessionRecord } from '../state/session-table.js';
import type { Moment, StateMachine } from '../state/state-machine.js';

export interface ServerObserver {
  requested(
    operation: LoggedOperation,
    paths: readonly string[],
    session: SessionRecord | undefined,
    atMs: number,
  ): void;
  notified(event: WatchNotice, session: SessionRecord | undefined, atMs: number): void;
}

export interface ConnectionHost {
  readonly stateMachine: StateMachine;
  readonly faults: Faults;
  readonly clock: Clock;
  readonly writer: WireWriter; // Shared by all connections: each packet is written in one step.
  readonly traffic: Traffic;
  readonly observer: ServerObserver;
  moment(): Moment;
  answerWord(word: string): string | undefined;
  connected(): void;
}

/** Counts of packets, for `mntr`. */
export interface Traffic {
  received: number;
  sent: number;
}

interface Outgoing {
  readonly bytes: Buffer;
  readonly dueMs: number;
  readonly isLast: boolean;
}

const HIGH_WATER_BYTES = 2 ** 20; // Beyond this the server doesn't read from a client that doesn't read.

/** One client's connection: packets in, packets out, in order, with the faults that are set. */
export class ClientConnection implements Client {
  identities: Identity[];
  session: SessionRecord | undefined;
  readonly address: string;
  readonly #socket: Socket;
  readonly #host: ConnectionHost;
  readonly #packets = new PacketSplitter();
  readonly #delayed: Outgoing[] = [];
  #timer: Timer | undefined;
  #ready: Buffer[] = [];
  #phase: 'new' | 'connected' | 'ending' | 'closed' = 'new';
  #severed = false; // Bytes of its stream were dropped: it can't go on.

  constructor(socket: Socket, host: ConnectionHost) {
    this.#socket = socket;
    this.#host = host;
    this.address = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
    this.identities = [{ scheme: 'ip', id: this.address }];
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('drain', () => this.updateFlow());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#closed());
    this.updateFlow();
  }

  /** Reads from the socket or not, depending on the faults, and on what the client hasn't read. */
  updateFlow(): void {
    if (this.#host.faults.paused || this.#socket.writableLength > HIGH_WATER_BYTES) this.#socket.pause();
    else this.#socket.resume();
    this.#release();
  }

  /** The partition has ended: a connection that lost bytes is reset. */
  healed(): void {
    if (this.#severed && !this.#isCutOff) this.destroy();
  }

  notify(event: WatchNotice): void {
    this.#host.observer.notified(event, this.session, this.#host.clock.now());
    this.#send(writeEvent(this.#host.writer, event), 0);
  }

  /** Ends the connection when all packets that are ready are written. */
  disconnect(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'ending';
    this.#flush();
    // A client behind a partition doesn't learn of this either.
    if (this.#isCutOff) this.#severed = true;
    else this.#socket.destroySoon();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  get #isCutOff(): boolean {
    return this.#host.faults.isCutOff(this.session?.id);
  }

  #closed(): void {
    this.#phase = 'closed';
    this.#timer?.clear();
    this.#ready = [];
    this.#delayed.length = 0;
    this.#host.stateMachine.disconnected(this);
  }

  #receive(chunk: Buffer): void {
    if (this.#severed || this.#isCutOff) {
      this.#severed = true;
      return;
    }
    this.#packets.push(chunk);
    const moment = this.#host.moment();
    try {
      if (this.#phase === 'new' && this.#answerWord()) return;
      while (this.#phase === 'new' || this.#phase === 'connected') {
        const packet = this.#packets.next();
        if (packet === undefined) return;
        this.#host.traffic.received++;
        if (this.#phase === 'new') this.#connect(packet, moment);
        else this.#serve(packet, moment);
      }
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.destroy();
    }
  }

  /** Before the handshake, a client may send a four-letter word instead. */
  #answerWord(): boolean {
    const word = this.#packets.peek();
    const answer = word === undefined ? undefined : this.#host.answerWord(word);
    if (answer === undefined) return false;
    this.#host.traffic.received++;
    this.#phase = 'ending';
    this.#socket.end(answer, () => this.#socket.destroySoon());
    return true;
  }

  #connect(packet: Buffer, moment: Moment): void {
    const { stateMachine, faults, writer } = this.#host;
    const request = readConnectRequest(new WireReader(packet));
    if (faults.isCutOff(request.sessionId)) {
      this.#severed = true;
      return;
    }
    const { failCode, swallowed, delayMs } = faults.disturb('connect', []);
    const result = failCode === undefined ? stateMachine.connect(this, request, moment) : undefined;
    this.#host.observer.requested('connect', [], this.session, moment.nowMs);
    if (result === undefined || result.kind === 'ahead' || swallowed) return this.disconnect();
    const session = result.kind === 'accepted' ? result.session : undefined;
    this.#phase = 'connected';
    this.#host.connected();
    const bytes = writeConnectReply(writer, session, request.sendsReadOnlyFlag);
    this.#send(bytes, delayMs, session === undefined);
  }

  #serve(packet: Buffer, moment: Moment): void {
    const { stateMachine, faults } = this.#host;
    const request = readRequest(new WireReader(packet));
    if (request.type === undefined) return this.#answer(stateMachine.execute(this, request, moment), 0);
    const paths = pathsOf(request.operation);
    this.#host.observer.requested(request.type.name, paths, this.session, moment.nowMs);
    const { failCode, swallowed, delayMs } = faults.disturb(request.type.name, paths);
    const reply =
      failCode === undefined
        ? stateMachine.execute(this, request, moment)
        : { ...failureOf(request.type.name, failCode, stateMachine.zxid), xid: request.xid };
    if (swallowed) this.disconnect();
    else this.#answer(reply, delayMs);
  }

  #answer(reply: ReplyParts | undefined, delayMs: number): void {
    if (reply !== undefined) this.#send(writeReply(this.#host.writer, reply), delayMs, reply.isLast);
  }

  /** Keeps the order: a packet waits for those that are delayed before it. */
  #send(bytes: Buffer, delayMs: number, isLast = false): void {
    if (this.#phase === 'ending' || this.#phase === 'closed') return;
    if (isLast) this.#phase = 'ending';
    this.#host.traffic.sent++;
    if (delayMs === 0 && this.#delayed.length === 0 && !this.#host.faults.paused) {
      return this.#write(bytes, isLast);
    }
    const before = this.#delayed.at(-1)?.dueMs ?? 0;
    const dueMs = Math.max(before, this.#host.clock.now() + delayMs);
    this.#delayed.push({ bytes, dueMs, isLast });
    this.#release();
  }

  #release(): void {
    this.#timer?.clear();
    if (this.#host.faults.paused) return;
    for (let next = this.#delayed[0]; next !== undefined; next = this.#delayed[0]) {
      const waitMs = next.dueMs - this.#host.clock.now();
      if (waitMs > 0) {
        this.#timer = this.#host.clock.after(waitMs, () => this.#release(), { background: true });
        return;
      }
      this.#delayed.shift();
      this.#write(next.bytes, next.isLast);
    }
  }

  /** Packets of one turn of the event loop are written together. */
  #write(bytes: Buffer, isLast: boolean): void {
    if (this.#ready.length === 0) queueMicrotask(() => this.#flush());
    this.#ready.push(bytes);
    if (isLast) this.disconnect();
  }

  #flush(): void {
    const bytes = this.#ready;
    this.#ready = [];
    if (bytes.length === 0 || this.#socket.destroyed) return;
    if (this.#severed || this.#isCutOff) {
      this.#severed = true;
      return;
    }
    this.#socket.write(bytes.length === 1 ? (bytes[0] as Buffer) : Buffer.concat(bytes));
    if (this.#socket.writableLength > HIGH_WATER_BYTES) this.#socket.pause();
  }
}

/** The reply with an error that a test has set. As from ZooKeeper, it is the last one if it is about authentication. */
function failureOf(name: LoggedOperation, code: number, zxid: bigint): Omit<ReplyParts, 'xid'> {
  if (name === 'sasl') return { code, zxid: 0n, body: tokenBody(null), isLast: true };
  if (name === 'auth') return { code, zxid: 0n, isLast: true };
  return { code, zxid, isLast: code === ERROR_CODES.SESSION_CLOSED_REQUIRE_SASL_AUTH };
}

function pathsOf(operation: Operation | undefined): readonly string[] {
  if (operation === undefined) return [];
  if ('path' in operation) return [operation.path ?? ''];
  return 'parts' in operation ? operation.parts.map(({ path }) => path) : [];
}
