/** A TCP link to a ZooKeeper server that can be made to swallow everything: a network that fails without a word. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** @param {string} connectString the servers; the link goes to the first, and a chroot is kept */
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
    /** From now on nothing comes through, and nobody is told. */
    break() {
      broken = true;
    },
    /** The network is back; what was connected has to connect again. */
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
