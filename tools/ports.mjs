import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import getPort, { portNumbers } from 'get-port';

const HOST = '127.0.0.1';
// Below the ports that the system hands out for outgoing connections. Otherwise an outgoing connection could take a port
// between the check that the port is free and the moment when a server listens on it.
const PORTS = { first: 15_000, last: 31_999 };
const BLOCK = 500;
const BLOCKS = (PORTS.last + 1 - PORTS.first) / BLOCK;

/** @type {Promise<number> | undefined} */
let block;

/**
 * Resolves with a port that is free now, that no outgoing connection takes, and that no other call returns: not in this process, and
 * not in another one, because each process has a block of ports for itself.
 */
export async function freePort() {
  for (;;) {
    block ??= ownBlock();
    const current = block;
    const first = await current;
    const last = first + BLOCK - 1;
    const port = await getPort({ host: HOST, port: portNumbers(first + 1, last), reserve: true });
    if (port > first && port <= last) return port;
    // The block is used up.
    if (block === current) block = undefined;
  }
}

/**
 * Resolves with the first port of a block that belongs to this process as long as it lives, because it listens on that port.
 *
 * A server that starts takes seconds until it listens on its ports. Without blocks, a process that starts servers at the same time
 * could be given one of them, and a leader of an ensemble that can't listen tries again for ever.
 */
async function ownBlock() {
  const start = randomInt(BLOCKS);
  for (let tried = 0; tried < BLOCKS; tried++) {
    const first = PORTS.first + ((start + tried) % BLOCKS) * BLOCK;
    const listener = createServer().unref();
    try {
      await once(listener.listen({ host: HOST, port: first, exclusive: true }), 'listening');
      return first;
    } catch {
      // Another process has the block.
    }
  }
  throw new Error(
    `all ${BLOCKS} blocks of ports from ${PORTS.first} to ${PORTS.last} are in use by other processes`,
  );
}
