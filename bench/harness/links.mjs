/** Links between clients and servers that take as long as those between two hosts. */
import { TcpProxy } from '../../test/support/faults/tcp-proxy.mjs';
import { listing } from '../peers/packets.mjs';
import { openWire } from '../peers/wire.mjs';
import { median, rounded } from './quantiles.mjs';

/** How tables name servers behind such links. */
export const AWAY = '1 ms away';
const ONE_WAY_MS = 0.5;
const READS = 500;
const SESSION_MS = 30_000;

/**
 * @param {readonly number[]} ports of servers
 * @returns {Promise<{ connect: string, notes: string[], stop: () => Promise<void> }>} the notes say how long a round trip takes
 */
export async function startLinks(ports) {
  // Unread, because reading what it passes on would take time.
  const proxies = await Promise.all(ports.map((port) => TcpProxy.start(port, { readable: false })));
  for (const proxy of proxies) proxy.delay(ONE_WAY_MS);
  const connect = proxies.map(({ connectString }) => connectString).join(',');
  const [without, through] = [await roundTripMs(`127.0.0.1:${ports[0]}`), await roundTripMs(connect)];
  return {
    connect,
    notes: [
      `${AWAY}: a proxy passes on what clients and servers send ${ONE_WAY_MS} ms later. Before the contestants began, a read took ${rounded(through, 2)} ms through it, and ${rounded(without, 2)} ms without it.`,
    ],
    stop: async () => void (await Promise.all(proxies.map((proxy) => proxy.stop()))),
  };
}

/** The median of reads. @param {string} servers of which the first is read from */
async function roundTripMs(servers) {
  const wire = await openWire(servers, SESSION_MS);
  const times = [];
  for (let reads = 0; reads < READS; reads++) {
    const began = performance.now();
    await wire.ask(1, listing('/'));
    times.push(performance.now() - began);
  }
  await wire.close();
  return median(times);
}
