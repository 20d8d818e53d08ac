import { once } from 'node:events';
import { connect, createServer } from 'node:net';

const NOTIFICATION_XID = -1;
/** @type {Readonly<Record<number, string>>} */
const OPERATIONS = {
  [-11]: 'closeSession',
  1: 'create',
  2: 'delete',
  3: 'exists',
  4: 'getData',
  5: 'setData',
  6: 'getACL',
  8: 'getChildren',
  11: 'ping',
  12: 'getChildren2',
  14: 'multi',
  18: 'removeWatches',
  22: 'multiRead',
  101: 'setWatches',
};

/** The traffic of one connection since its counts were read last. */
export class Line {
  /** Numbers of requests by kind. @type {Record<string, number>} */
  requests = {};
  /** When the handshake passed, in milliseconds. */
  openedAt = Number.NaN;
  /** When each multi passed, in milliseconds. @type {number[]} */
  multisAt = [];
  /** When each `exists` without a watch (an existence probe) passed. @type {number[]} */
  probesAt = [];
  notifications = 0;
  bytesOut = 0;
  bytesIn = 0;
  isOpen = true;
}

/** A proxy in front of a server, which counts requests by kind. The server counts only their total. */
export class CountingProxy {
  #server;
  /** @type {Line[]} */
  #lines = [];
  /** @type {Set<import('node:net').Socket>} */
  #sockets = new Set();

  /** @param {number} port of the server */
  constructor(port) {
    this.#server = createServer((socket) => this.#relay(socket, port));
  }

  /** @param {string} address `host:port` of one server */
  static async before(address) {
    const proxy = new CountingProxy(Number(address.slice(address.lastIndexOf(':') + 1)));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get address() {
    return `127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (this.#server.address()).port}`;
  }

  /** The counts since the last call, for each connection that was open meanwhile. Resets them. */
  take() {
    const lines = this.#lines.map((line) => ({ ...line }));
    this.#lines = this.#lines.filter((line) => line.isOpen);
    for (const line of this.#lines) Object.assign(line, new Line(), { openedAt: line.openedAt });
    return lines;
  }

  async close() {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** @param {import('node:net').Socket} client @param {number} port */
  #relay(client, port) {
    const server = connect({ port, host: '127.0.0.1' });
    const line = new Line();
    this.#lines.push(line);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        line.isOpen = false;
        client.destroy();
        server.destroy();
      });
    }
    client.on(
      'data',
      eachFrame((frame, first) => {
        const operation = first ? 'connect' : (OPERATIONS[frame.readInt32BE(4)] ?? 'other');
        line.requests[operation] = (line.requests[operation] ?? 0) + 1;
        if (operation === 'connect') line.openedAt = performance.now();
        if (operation === 'multi') line.multisAt.push(performance.now());
        // The last byte of the request says whether it sets a watch.
        if (operation === 'exists' && frame.at(-1) === 0) line.probesAt.push(performance.now());
      }),
    );
    server.on(
      'data',
      eachFrame((frame, first) => {
        if (!first && frame.readInt32BE(0) === NOTIFICATION_XID) line.notifications++;
      }),
    );
    client.on('data', (chunk) => {
      line.bytesOut += chunk.length;
      server.write(chunk);
    });
    server.on('data', (chunk) => {
      line.bytesIn += chunk.length;
      client.write(chunk);
    });
  }
}

/** The requests of some connections by kind. @param {readonly Line[]} lines @returns {Record<string, number>} */
export function totals(lines) {
  /** @type {Record<string, number>} */
  const all = {};
  for (const { requests } of lines)
    for (const [operation, count] of Object.entries(requests)) all[operation] = (all[operation] ?? 0) + count;
  return all;
}

/**
 * The number of a session's existence probes that replaced a ping. A ping is due after each `everyMs` milliseconds. No more probes
 * count than pings would have been due since the session was opened. Further probes have other reasons.
 *
 * @param {Line} line since it was opened
 * @param {number} everyMs
 */
export function probesInPlaceOfPings({ openedAt, probesAt }, everyMs) {
  return probesAt.reduce((count, at) => count + Number(at >= openedAt + (count + 1) * everyMs), 0);
}

/**
 * The number of heartbeats (multis) in a lease. It counts whole periods, so that the result doesn't depend on when the counting began.
 *
 * @param {readonly number[]} at when they passed @param {number} leaseMs
 */
export function heartbeatsPerLease(at, leaseMs) {
  const first = at[0] ?? Number.NaN;
  const last = at.at(-1) ?? Number.NaN;
  return leaseMs / ((last - first) / (at.length - 1));
}

/** @param {(frame: Buffer, first: boolean) => void} onFrame called with each frame, without its length */
function eachFrame(onFrame) {
  /** @type {Buffer} */
  let rest = Buffer.alloc(0);
  let first = true;
  return (/** @type {Buffer} */ chunk) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
      const end = 4 + bytes.readInt32BE(0);
      onFrame(bytes.subarray(4, end), first);
      first = false;
      bytes = bytes.subarray(end);
    }
    rest = bytes;
  };
}
