/**
 * A TCP proxy in front of a ZooKeeper server, for all faults between a client and the server. It runs in plain
 * Node, and keeps no process alive.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { OPERATION, XID } from '../wire/protocol.mjs';
import { ProxiedConnection } from './proxied-connection.mjs';

/**
 * @import { AddressInfo, Server, Socket } from 'node:net'
 * @import { OperationName } from '../wire/protocol.mjs'
 * @import { Conditions, Direction } from './proxied-connection.mjs'
 */

/**
 * @typedef {object} Fault
 * @property {boolean} [refuses] takes no connections
 * @property {readonly Direction[]} [holds] lets nothing through in these directions
 * @property {number} [delayMs] passes everything on so much later
 * @property {boolean} [mutes] lets nothing through on the connections that it takes
 */

/**
 * @typedef {object} Trap a fault that waits for a request
 * @property {readonly number[]} operations
 * @property {string} text only requests that contain these characters
 * @property {(connection: ProxiedConnection, xid: number) => void} spring
 */

/** @type {Readonly<Record<Direction | 'both', readonly Direction[]>>} */
const DIRECTIONS = { upstream: ['upstream'], downstream: ['downstream'], both: ['upstream', 'downstream'] };

/** Several faults at once do no harm. Faults that return a function last until you call it, or until {@link TcpProxy.restore}. */
export class TcpProxy {
  /** @type {Server} */
  #listener;
  /** @type {{ host: string, port: number }} */
  #target;
  /** @type {string} */
  #chroot;
  /** @type {boolean} */
  #readable;
  /** @type {Set<ProxiedConnection>} */
  #connections = new Set();
  /** @type {Set<Fault>} */
  #faults = new Set();
  /** @type {Set<Trap>} */
  #traps = new Set();
  /** @type {{ path: string, passed: () => void } | undefined} */
  #lastEvent;
  /** Of the next connection. @type {import('./proxied-connection.mjs').Cut | undefined} */
  #cut;
  /** @type {{ at: number, reached: () => void } | undefined} */
  #awaitedCount;
  /** @type {Conditions} */
  #conditions = {
    holds: (direction) => this.#holds(direction),
    delayMs: () => Math.max(0, ...[...this.#faults].map(({ delayMs = 0 }) => delayMs)),
    requested: (connection, frame) => this.#requested(connection, frame),
    endsBehind: (frame) => this.#endsBehind(frame),
  };
  /** @type {import('./traffic.mjs').Traffic[]} */
  #traffic = [];
  /** How many requests have passed, without handshakes and pings. */
  requests = 0;
  /** How many connections were taken. */
  accepted = 0;

  /**
   * @param {string} target
   * @param {boolean} readable
   */
  constructor(target, readable) {
    const [, host = '', port = '2181', chroot = ''] = /^([^:,/]+)(?::(\d+))?[^/]*(\/.*)?$/.exec(target) ?? [];
    this.#target = { host, port: Number(port) };
    this.#chroot = chroot;
    this.#readable = readable;
    this.#listener = createServer((client) => this.#accept(client)).unref();
  }

  /**
   * @param {string | number} target a connect string, whose first server is used, or a port of this machine
   * @param {object} [options]
   * @param {boolean} [options.readable] `false` if requests can't be distinguished: encrypted, or between servers
   * @param {string} [options.host] the address at which the proxy listens
   */
  static async start(target, { readable = true, host = '127.0.0.1' } = {}) {
    const proxy = new TcpProxy(typeof target === 'number' ? `127.0.0.1:${target}` : target, readable);
    proxy.#listener.listen(0, host);
    await once(proxy.#listener, 'listening');
    return proxy;
  }

  get port() {
    return /** @type {AddressInfo} */ (this.#listener.address()).port;
  }

  /** The connect string to the server through this proxy, with the target's chroot. */
  get connectString() {
    const { address, family, port } = /** @type {AddressInfo} */ (this.#listener.address());
    return `${family === 'IPv6' ? `[${address}]` : address}:${port}${this.#chroot}`;
  }

  /** Whether any connection leads through it. */
  get inUse() {
    return this.#connections.size > 0;
  }

  /** Ends all connections. New ones are taken. */
  dropConnections() {
    for (const connection of this.#connections) connection.drop();
  }

  /** Takes no new connections. Those that there are go on. */
  refuse() {
    return this.#add({ refuses: true });
  }

  /** Ends all connections, and takes no new ones. */
  cut() {
    const undo = this.refuse();
    this.dropConnections();
    return undo;
  }

  /**
   * Lets nothing through, not even the end of a connection, and notifies neither side. Returns a function. When you call it,
   * the bytes that were sent meanwhile arrive, as when TCP repeats what it has lost.
   *
   * @param {Direction | 'both'} [direction]
   */
  partition(direction = 'both') {
    return this.#add({ holds: DIRECTIONS[direction] });
  }

  /**
   * Connections that are opened from now on stay silent, also afterwards. If all packets of one direction are lost, TCP
   * establishes no connection, so not even a handshake arrives.
   */
  muteNewConnections() {
    return this.#add({ mutes: true });
  }

  /** Passes everything on so much later. @param {number} ms */
  delay(ms) {
    return this.#add({ delayMs: ms });
  }

  /** Ends all of the faults above. Connections with bytes that are held back end, because these bytes are lost. */
  restore() {
    for (const connection of this.#connections)
      if (DIRECTIONS.both.some((direction) => this.#holds(direction))) connection.drop();
    this.#faults.clear();
    this.#passAll();
  }

  /**
   * When the reply to the next such request comes, ends its connection instead of passing the reply on. Resolves when the
   * reply was lost.
   *
   * @param {OperationName | readonly OperationName[]} operations
   * @param {object} [options]
   * @param {string} [options.text] only a request that contains these characters
   * @param {number} [options.bytes] how much of the reply gets through
   * @param {AbortSignal} [options.signal] cancels the fault
   * @returns {Promise<void>}
   */
  loseReplyTo(operations, { bytes = 0, ...which } = {}) {
    return this.#trap(operations, which, (connection, xid, disarm) =>
      connection.loseReply(xid, bytes, disarm),
    );
  }

  /**
   * From the next such request on, including that request, nothing comes through in either direction. Resolves when it has come.
   *
   * @param {OperationName} operation
   * @param {{ text?: string }} [which] only a request that contains these characters
   * @returns {Promise<void>}
   */
  partitionFrom(operation, which) {
    return this.#trap(operation, which, (_connection, _xid, disarm) => {
      if (disarm()) this.partition();
    });
  }

  /**
   * Ends the connection right after the next event of this path. Everything that the server sends after it is lost.
   *
   * @param {string} path
   * @returns {Promise<void>}
   */
  endBehindEvent(path) {
    return new Promise((resolve) => {
      this.#lastEvent = { path, passed: resolve };
    });
  }

  /**
   * Ends the next connection that is opened, as soon as so much has been handed on in one direction. Resolves when it has ended.
   *
   * @param {Direction} direction
   * @param {{ messages?: number, bytes?: number }} after whole messages, with the handshake, and further bytes behind them
   * @returns {Promise<void>}
   */
  cutNextConnection(direction, { messages = 0, bytes = 0 }) {
    return new Promise((resolve) => {
      this.#cut = { direction, messages, bytes, done: resolve };
    });
  }

  /**
   * Resolves when so many more requests have passed.
   *
   * @param {number} count
   * @returns {Promise<void>}
   */
  afterRequests(count) {
    return new Promise((resolve) => {
      this.#awaitedCount = { at: this.requests + count, reached: resolve };
    });
  }

  /** The counts of each connection that was open since the last call. */
  takeTraffic() {
    const taken = this.#traffic.map((each) => each.take());
    this.#traffic = this.#traffic.filter(({ isOpen }) => isOpen);
    return taken;
  }

  async stop() {
    this.dropConnections();
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  /** @param {Direction} direction */
  #holds(direction) {
    return [...this.#faults].some(({ holds = [] }) => holds.includes(direction));
  }

  /** @param {ProxiedConnection} connection @param {Buffer} frame */
  #requested(connection, frame) {
    // The handshake, which has no header, begins with a 0 too.
    const xid = frame.readInt32BE(0);
    if (xid <= 0) return;
    this.requests++;
    if (this.#awaitedCount !== undefined && this.requests >= this.#awaitedCount.at)
      this.#awaitedCount.reached();
    const operation = frame.readInt32BE(4);
    for (const { operations, text, spring } of this.#traps)
      if (operations.includes(operation) && frame.includes(text)) spring(connection, xid);
  }

  /** @param {Buffer} frame */
  #endsBehind(frame) {
    const { path, passed } = this.#lastEvent ?? {};
    if (path === undefined || frame.readInt32BE(0) !== XID.event || !frame.includes(path)) return false;
    this.#lastEvent = undefined;
    passed?.();
    return true;
  }

  /** @param {Fault} fault */
  #add(fault) {
    this.#faults.add(fault);
    this.#passAll();
    return () => {
      this.#faults.delete(fault);
      this.#passAll();
    };
  }

  #passAll() {
    for (const connection of this.#connections) connection.pass();
  }

  /**
   * @param {OperationName | readonly OperationName[]} operations
   * @param {{ text?: string, signal?: AbortSignal } | undefined} which
   * @param {(connection: ProxiedConnection, xid: number, disarm: () => boolean) => void} spring `disarm` resolves
   *   the promise, and returns whether the fault was still to come
   * @returns {Promise<void>}
   */
  #trap(operations, { text = '', signal } = {}, spring) {
    return new Promise((resolve) => {
      /** @type {Trap} */
      const trap = {
        operations: [operations].flat().map((name) => OPERATION[name]),
        text,
        spring: (connection, xid) =>
          spring(connection, xid, () => {
            const wasArmed = this.#traps.delete(trap);
            resolve();
            return wasArmed;
          }),
      };
      this.#traps.add(trap);
      signal?.addEventListener('abort', () => this.#traps.delete(trap), { once: true });
    });
  }

  /** @param {Socket} client */
  #accept(client) {
    if ([...this.#faults].some(({ refuses }) => refuses)) return void client.destroy();
    this.accepted++;
    const isMute = [...this.#faults].some(({ mutes }) => mutes);
    const conditions = isMute ? { ...this.#conditions, holds: () => true } : this.#conditions;
    const connection = new ProxiedConnection(client, connect(this.#target), conditions, {
      readable: this.#readable,
      onEnd: () => this.#connections.delete(connection),
      cut: this.#cut,
    });
    this.#cut = undefined;
    this.#connections.add(connection);
    this.#traffic.push(connection.traffic);
  }
}
