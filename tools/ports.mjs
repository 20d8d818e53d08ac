import { randomInt } from 'node:crypto';
import getPort from 'get-port';

// Below the ports that the system hands out for outgoing connections. Otherwise an outgoing connection could take a port
// between the check that the port is free and the moment when a server listens on it.
const PORTS = { first: 15_000, last: 32_000 };

/** Ports in random order, because several processes look for ports at the same time. */
function* candidates() {
  for (;;) yield randomInt(PORTS.first, PORTS.last);
}

/** Resolves with a port that is free now, that no outgoing connection takes, and that no other call in this process returns. */
export function freePort() {
  return getPort({ host: '127.0.0.1', port: candidates(), reserve: true });
}
