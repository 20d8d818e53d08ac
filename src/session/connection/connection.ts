import { AuthenticationError, ConnectionLossError, describe } from '../../errors.js';
import { type Abortable, LazyAbortController, onAbort } from '../../platform/async/lazy-abort-controller.js';
import { abortable, type Deferred, deferred, microtask } from '../../platform/async/promises.js';
import { LinkedList, type LinkedListNode } from '../../platform/collections/lists-and-sets.js';
import type { Server } from '../../platform/injected-environment.js';
import type { Clock, LeaseInstant, Timer } from '../../platform/time/clock.js';
import { FrameReader } from '../../wire/frame-reader.js';
import type { Given } from '../connection-thread/heartbeat-repeater.js';
import { isClickHouseKeeper, isUnansweredByKeeper } from '../protocol/clickhouse-keeper.js';
import {
  authenticationError,
  isThrottled,
  SESSION_EXPIRED_CODE,
  SESSION_MOVED_CODE,
  serverError,
} from '../protocol/error-codes.js';
import * as layout from '../protocol/frame-layout.js';
import * as requests from '../protocol/requests.js';
import { BatchWriter } from './batch-writer.js';
import { CLOSED, CLOSED_AT_ONCE, HandshakeLostError, isClosing, SessionGoneError } from './connection-end.js';
import { type Reply, type ReplyReceiver, ServerReply } from './reply.js';
import type { ConnectionSocket, Repeats, Transport } from './tcp-and-tls.js';

/** A request that was sent. It keeps only the parts that its answer needs, since there may be very many. */
interface Pending extends LinkedListNode<Pending> {
  readonly xid: number;
  readonly name: string;
  readonly path: string | undefined;
  readonly decode: (body: Buffer) => unknown;
  readonly sentAt: LeaseInstant;
  readonly bytes: number; // The size of its packet.
  readonly outcome: ReplyReceiver<unknown>;
}

export interface ConnectionOwner {
  /** The server reports a change of a watched node. Called on the connection's stack. */
  notified(event: requests.WatchEvent): void;
  /** The last call for a connection. It isn't on the stack of the code that ended the connection. */
  connectionEnded(connection: Connection, reason: Error): void;
}

/** A scheme and credentials, as ZooKeeper's `addauth` takes them. */
export interface Credentials {
  /** ZooKeeper's scheme: `digest`, for example. */
  readonly scheme: string;
  /** The credentials in the form of the scheme: `user:password` for `digest`. Conclave never logs them. */
  readonly credentials: string;
}

const THROTTLED_PAUSE_MS = 100; // Before a throttled request that sets watches is sent again.
const LAST_XID = layout.FIRST_THREAD_XID - 1;

/**
 * One TCP connection to one server: it makes the handshake, sends requests, and receives replies and events. It is never reused.
 * When it ends, everything that waits for it rejects with `ConnectionLossError`, and the session opens another. No code of a
 * caller runs on its stack: it settles promises, and its owner is the session.
 */
export class Connection {
  readonly server: Server;
  readonly #socket: ConnectionSocket;
  readonly #writer: BatchWriter;
  readonly #frames = new FrameReader(layout.MAX_HANDSHAKE_REPLY_BYTES);
  readonly #pending = new LinkedList<Pending>(); // In the order of the requests, which is also the order of the replies.
  readonly #pings = new LinkedList<Pending>();
  readonly #owner: ConnectionOwner;
  readonly #clock: Clock;
  #pauses: Set<Timer> | undefined; // Created on use: of the requests that set watches again, and were throttled.
  #handshake: Deferred<requests.HandshakeReply> | undefined;
  #waits: LazyAbortController<Error> | undefined; // Created on use. It aborts when the connection ends.
  #authentications: { readonly scheme: string; readonly outcome: Deferred<void> }[] = [];
  #end: Error | undefined;
  #isKeeper = false;
  #xid = 0;
  #lastZxid = 0n;
  #repliedZxid = 0n;
  #restoring = 0; // How many of the requests that set watches again aren't answered yet.

  private constructor(server: Server, { socket, incoming }: Transport, clock: Clock, owner: ConnectionOwner) {
    this.server = server;
    this.#owner = owner;
    this.#clock = clock;
    this.#socket = socket;
    this.#writer = new BatchWriter(socket, clock);
    if (incoming !== undefined) incoming.reader = this;
    this.#socket.on('data', (chunk: Buffer) => this.read(chunk));
    this.#socket.on('error', (error) => this.destroy(error));
    this.#socket.on('close', () => this.destroy(new Error(CLOSED)));
  }

  /**
   * Makes the connection that `transport` opens part of a session, until `signal` aborts.
   * @throws the error that ended the connection. If the handshake was sent and not answered, a HandshakeLostError with that error
   *   as its cause
   */
  static async open(
    server: Server,
    transport: Transport,
    handshake: requests.Handshake,
    clock: Clock,
    owner: ConnectionOwner,
    signal: Abortable,
  ): Promise<{ connection: Connection; reply: requests.HandshakeReply }> {
    const { socket, ready } = transport;
    const connection = new Connection(server, transport, clock, owner);
    const answer = deferred<requests.HandshakeReply>();
    connection.#handshake = answer;
    let sent = false;
    socket.once(ready, () => {
      sent = true;
      socket.write(requests.encodeHandshake(handshake));
    });
    const unsubscribe = onAbort(signal, () => connection.destroy(signal.reason as Error));
    try {
      return { connection, reply: await answer.promise };
    } catch (cause) {
      const why = isClosing(cause) ? new Error(CLOSED_AT_ONCE, { cause }) : cause;
      throw sent ? new HandshakeLostError(describe(why), { cause }) : why;
    } finally {
      unsubscribe();
    }
  }

  get end(): Error | undefined {
    return this.#end;
  }

  /** Whether the server is ClickHouse Keeper. Known from the answer to the handshake on. */
  get isKeeper(): boolean {
    return this.#isKeeper;
  }

  /**
   * The newest transaction that a reply or an event has shown. No later server may be behind it. An event counts like a reply:
   * its transaction is committed, and a caller that has acted on it must not read an older state.
   */
  get lastZxid(): bigint {
    return this.#lastZxid;
  }

  /**
   * The newest transaction whose events have all arrived. A reply shows it, since a server sends the events of a transaction
   * before any reply that shows that transaction. An event doesn't show it, since other events of the same transaction may
   * follow. A reply doesn't either, if it arrives before all watches of the former connection are set again.
   */
  get repliedZxid(): bigint {
    return this.#repliedZxid;
  }

  /**
   * Has the server watch the paths that an earlier connection watched. The server then reports at once the changes since `sinceZxid`, the
   * `repliedZxid` of that connection. If this connection is lost before the answer, the next one has to do it. Each portion is one request.
   */
  restoreWatches(portions: readonly requests.WatchPortion[], sinceZxid: bigint): void {
    this.#repliedZxid = sinceZxid;
    this.#restoring = portions.length;
    const answered = () => {
      this.#restoring--;
    };
    const restore = ({ paths, kind }: requests.WatchPortion): void =>
      void this.send(requests.setWatchesRequest(sinceZxid, paths, kind)).then(answered, (error) => {
        if (isThrottled(error) && this.#end === undefined) this.#afterPause(() => restore({ paths, kind }));
      });
    for (const portion of portions) restore(portion);
  }

  #afterPause(task: () => void): void {
    this.#pauses ??= new Set();
    const timer = this.#clock.after(THROTTLED_PAUSE_MS, () => {
      this.#pauses?.delete(timer);
      task();
    });
    this.#pauses.add(timer);
  }

  /**
   * Sends a request. Replies come in the order of the requests.
   *
   * @throws ConnectionLossError if the connection ends before the reply; the server may have carried the request out
   * @throws ZooKeeperError if the server refuses it
   */
  send<T>(request: requests.Request<T>): Promise<Reply<T>> {
    const outcome = deferred<Reply<T>>();
    this.dispatch(request, outcome);
    return outcome.promise;
  }

  /** As {@link send}, but without a promise. If the request can't be sent, `outcome` is rejected at once. */
  dispatch<T>(request: requests.Request<T>, outcome: ReplyReceiver<T>): void {
    this.#xid = this.#xid === LAST_XID ? 1 : this.#xid + 1;
    this.#exchange(request, this.#xid, outcome, this.#pending);
  }

  /** The cheapest round trip. It shows that the server is there, and keeps the session from expiring. */
  ping(): Promise<Reply<void>> {
    const request: requests.Request<void> = {
      name: 'ping',
      encode: layout.encodePing,
      decode: () => undefined,
    };
    const outcome = deferred<Reply<void>>();
    this.#exchange(request, layout.PING_XID, outcome, this.#pings);
    return outcome.promise;
  }

  /** Whether a thread holds the socket, and may send heartbeats while this one stands still. */
  get isRepeated(): boolean {
    return this.#socket.give !== undefined;
  }

  /**
   * Tells the thread that holds the socket what it may send from now on; nothing, if `given` returns `undefined`. It is asked once for all
   * calls of a turn, before anything that is written after this call, and before any code that goes on in a later microtask.
   * @param isUrgent - it is asked now
   */
  give(given: () => Given | undefined, repeats: Repeats, isUrgent: boolean): void {
    if (this.#socket.give === undefined) return;
    const heard: Repeats = {
      answered: (tookMs) => repeats.answered(tookMs),
      repeated: (answer) => {
        if (this.#end !== undefined) return;
        if (answer.zxid > this.#lastZxid) this.#lastZxid = answer.zxid;
        repeats.repeated(answer);
      },
    };
    this.#writer.precede(() => this.#socket.give?.(given(), heard), isUrgent);
  }

  /** @throws AuthenticationError if the server refuses */
  async authenticate({ scheme, credentials }: Credentials): Promise<void> {
    if (this.#end !== undefined) throw this.#lossOf('authentication');
    const outcome = deferred();
    this.#authentications.push({ scheme, outcome });
    this.#writer.write(requests.encodeAuth(scheme, credentials));
    await outcome.promise;
  }

  /**
   * Calls code of a user, not on the caller's stack, and waits for it. @throws ConnectionLossError if the connection ends before, and the
   * error of `task`
   */
  async whileOpen<T>(task: () => T | Promise<T>): Promise<T> {
    if (this.#end !== undefined) throw this.#lossOf('authentication');
    this.#waits ??= new LazyAbortController();
    return await abortable(Promise.resolve().then(task), this.#waits);
  }

  /** Ends the connection at once. The first reason counts. */
  destroy(reason: Error): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    this.#writer.discard();
    for (const timer of this.#pauses ?? []) timer.clear();
    this.#socket.destroy();
    this.#handshake?.reject(reason);
    for (const { outcome } of this.#authentications) outcome.reject(this.#lossOf('authentication'));
    this.#waits?.abortFor(() => this.#lossOf('authentication'));
    const lost: Pending[] = [];
    for (const list of [this.#pending, this.#pings])
      for (let next = list.shift(); next !== undefined; next = list.shift()) lost.push(next);
    const largest = isClosing(reason)
      ? lost.reduce((most, { bytes }) => Math.max(most, bytes), 0)
      : undefined;
    for (const { name, bytes, outcome } of lost)
      outcome.reject(this.#lossOf(name, bytes === largest ? bytes : undefined));
    microtask(() => this.#owner.connectionEnded(this, reason));
  }

  #exchange<T>(
    request: requests.Request<T>,
    xid: number,
    outcome: ReplyReceiver<T>,
    pending: LinkedList<Pending>,
  ): void {
    const { name, path, decode, isUrgent = false } = request;
    if (this.#end !== undefined) {
      outcome.reject(this.#lossOf(name));
      return;
    }
    let bytes: Buffer;
    try {
      bytes = request.encode(xid);
    } catch (error) {
      outcome.reject(error); // The connection itself is intact.
      return;
    }
    pending.append({
      xid,
      name,
      path,
      decode,
      sentAt: this.#writer.sentAt(),
      bytes: bytes.length,
      outcome: outcome as ReplyReceiver<unknown>,
      before: undefined,
      after: undefined,
    });
    this.#writer.write(bytes, isUrgent);
  }

  /** @param requestBytes - the size of the request, if that may be why the server has ended the connection */
  #lossOf(operation: string, requestBytes?: number): ConnectionLossError {
    const { host, port } = this.server;
    const why = describe(this.#end);
    return new ConnectionLossError(
      `${operation}: the connection to ${host}:${port} ended before the reply (${why})`,
      { cause: this.#end, requestBytes },
    );
  }

  read(chunk: Buffer): void {
    try {
      for (const frame of this.#frames.push(chunk)) {
        if (this.#end !== undefined) return;
        this.#take(frame);
      }
    } catch (cause) {
      this.destroy(new Error(`the server sent data that can't be read: ${describe(cause)}`, { cause }));
    }
  }

  #take(frame: Buffer): void {
    if (this.#handshake !== undefined) {
      const answer = requests.decodeHandshake(frame);
      this.#isKeeper = isClickHouseKeeper(answer);
      this.#handshake.resolve(answer);
      this.#handshake = undefined;
      this.#frames.limit = layout.MAX_FRAME_BYTES;
      return;
    }
    const reply = layout.decodeReply(frame);
    if (reply.zxid > this.#lastZxid) this.#lastZxid = reply.zxid;
    if (reply.xid !== layout.EVENT_XID && this.#restoring === 0 && reply.zxid > this.#repliedZxid)
      this.#repliedZxid = reply.zxid;
    switch (reply.xid) {
      case layout.EVENT_XID:
        return this.#owner.notified(requests.decodeEvent(reply.body));
      case layout.AUTH_XID:
        return this.#settleAuthentication(reply.errorCode);
      case layout.PING_XID:
        return this.#settle(this.#pings.shift(), reply);
      default:
        return this.#settle(this.#pending.shift(), reply);
    }
  }

  #settleAuthentication(errorCode: number): void {
    const asked = this.#authentications.shift();
    if (asked === undefined) return;
    if (errorCode === 0) return asked.outcome.resolve();
    const refusal = `a server refused the credentials of the scheme '${asked.scheme}' (${errorCode})`;
    const advice = 'is that scheme set up on the servers, and are these credentials right for it?';
    asked.outcome.reject(new AuthenticationError(`${refusal}: ${advice}`));
  }

  #settle(pending: Pending | undefined, { xid, zxid, errorCode, body }: layout.ReplyHeader): void {
    if (pending === undefined) throw new Error('a reply without a request');
    const { name, path, decode, sentAt, outcome } = pending;
    if (pending.xid !== xid) {
      outcome.reject(new ConnectionLossError(`${name}: another request was answered in its place`));
      throw new Error('a reply out of turn');
    }
    if (errorCode === SESSION_EXPIRED_CODE || errorCode === SESSION_MOVED_CODE) {
      // For the operation, the reply is lost. The next handshake shows whether the session has ended.
      outcome.reject(new ConnectionLossError(`${name}: the session was taken from this connection`));
      return this.destroy(new SessionGoneError(errorCode === SESSION_MOVED_CODE));
    }
    const refusal = authenticationError(errorCode, name);
    if (refusal !== undefined) {
      outcome.reject(refusal);
      return this.destroy(refusal);
    }
    if (this.#isKeeper && isUnansweredByKeeper(errorCode)) {
      const why = `the server says that the outcome isn't known (${errorCode})`;
      outcome.reject(new ConnectionLossError(`${name}: ${why}`));
      return this.destroy(new Error(why));
    }
    if (errorCode !== 0) return outcome.reject(serverError(errorCode, name, path));
    try {
      outcome.resolve(new ServerReply(decode(body), zxid, sentAt));
    } catch (error) {
      if (error instanceof requests.TransactionError) return outcome.reject(error);
      outcome.reject(new ConnectionLossError(`${name}: the reply can't be read`, { cause: error }));
      throw error;
    }
  }
}
