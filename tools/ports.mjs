import { createServer } from 'node:net';

// Below the ports that the system hands out for outgoing connections: one of those may take a port between the moment
// in which it was found free and the one in which a server listens there.
const PORTS = { first: 15_000, last: 32_000 };

/** Given once: whoever got one may not listen there yet. */
const givenPorts = new Set();

/** A port that was free a moment ago, that no outgoing connection will take, and that nobody else here was given. */
export async function freePort() {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * (PORTS.last - PORTS.first));
    if (givenPorts.has(port)) continue;
    givenPorts.add(port);
    if (await isFree(port)) return port;
  }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
