/**
 * A TCP link to a server that can be made to fail in every way that the rows tell of. It knows frames, so that a reply
 * can be lost, or broken off in the middle. It keeps no process alive.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { frameReader } from './frames.mjs';

/** @typedef {{ operation: number, text: string, bytes: number, sprung: () => void }} Trap */

/** @param {string} connectString the servers; the link goes to the first, and a chroot is kept */
export async function openLink(connectString) {
  const [, host = '', port = '2181', chroot = ''] =
    /^([^:,/]+)(?::(\d+))?[^/]*(\/.*)?$/.exec(connectString) ?? [];
  /** @type {'open' | 'cut' | 'silent'} */
  let mode = 'open';
  /** @type {Trap | undefined} */
  let trap;
  let accepted = 0;
  /** @type {Set<import('node:net').Socket>} */
  const clients = new Set();

  const server = createServer((client) => {
    if (mode === 'cut') return void client.destroy();
    accepted++;
    clients.add(client);
    const upstream = connect(Number(port), host);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ]) {
      socket?.setNoDelay(true).unref();
      // An error is followed by 'close', which says all that counts.
      socket
        ?.on('error', () => undefined)
        .on('close', () => {
          if (mode !== 'silent') other?.destroy();
        });
    }
    client.on('close', () => clients.delete(client));

    const requests = frameReader();
    const replies = frameReader();
    let greeted = false;
    /** @type {number | undefined} */
    let trapped;
    client.on('data', (chunk) => {
      if (mode === 'silent') return;
      for (const frame of requests(chunk)) {
        // The first frame is the handshake, which has no header.
        if (greeted && springs(frame)) trapped = frame.readInt32BE(0);
        greeted = true;
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (mode === 'silent') return;
      for (const frame of replies(chunk)) {
        const length = Buffer.alloc(4);
        length.writeInt32BE(frame.length);
        if (trap === undefined || frame.readInt32BE(0) !== trapped) {
          client.write(length);
          client.write(frame);
          continue;
        }
        const { bytes, sprung } = trap;
        trap = undefined;
        client.end(Buffer.concat([length, frame]).subarray(0, bytes));
        upstream.destroy();
        return sprung();
      }
    });
  });

  /** @param {Buffer} frame */
  const springs = (frame) =>
    trap !== undefined && frame.readInt32BE(4) === trap.operation && frame.includes(trap.text);

  const endAll = () => {
    for (const client of clients) client.destroy();
  };

  server.unref().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    connectString: `127.0.0.1:${address.port}${chroot}`,
    /** How many connections it has taken so far. */
    get accepted() {
      return accepted;
    },
    /** Whether anybody is connected through it. */
    get inUse() {
      return clients.size > 0;
    },
    /** Ends all connections; new ones are served. */
    bounce: endAll,
    /** Ends all connections, and serves no new ones until {@link mend}. */
    cut() {
      mode = 'cut';
      endAll();
    },
    mend() {
      mode = 'open';
    },
    /** From now on nothing comes through in either direction, no end either, and nobody is told. */
    silence() {
      mode = 'silent';
    },
    /**
     * Lets only the first bytes of a reply through, and ends the connection then: of the reply to the next such
     * request. Resolves when that has happened.
     *
     * @param {number} operation its number in the protocol
     * @param {{ text?: string, bytes?: number }} [how] only a request that has `text` in it; none of the bytes
     */
    breakReplyTo(operation, { text = '', bytes = 0 } = {}) {
      return new Promise((resolve) => {
        trap = { operation, text, bytes, sprung: () => resolve(undefined) };
      });
    },
  };
}
