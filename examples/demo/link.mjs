/** A TCP proxy in front of a ZooKeeper server that can drop all data silently, as a failed network does. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** @param {string} connectString the servers, of which the proxy uses the first. A chroot is kept */
export async function openLink(connectString) {
  const [, host = '', port = '2181', chroot = ''] =
    /^\s*(\[[^\]]+\]|[^:,/]+)(?::(\d+))?[^/]*(\/.*)?$/.exec(connectString) ?? [];
  let broken = false;
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set();
  const server = createServer((client) => {
    const upstream = connect(Number(port), host.replace(/^\[|\]$/g, ''));
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ]) {
      if (from === undefined || to === undefined) continue;
      sockets.add(from);
      from.setNoDelay(true).on('error', () => to.destroy());
      from.on('data', (chunk) => void (broken || to.write(chunk)));
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    connectString: `127.0.0.1:${address.port}${chroot}`,
    /** From now on all data are dropped, and both sides keep their connections. */
    break() {
      broken = true;
    },
    /** The network works again. Existing connections are closed, and clients must connect again. */
    mend() {
      broken = false;
      endAll();
    },
    async stop() {
      endAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
