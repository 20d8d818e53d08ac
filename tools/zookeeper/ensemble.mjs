/**
 * Starts ZooKeeper for the tests, the benchmark and the demo.
 *
 * The servers come from the first of these sources that applies:
 *
 * 1. An ensemble that runs already, named by `ZOOKEEPER` in the environment.
 * 2. With `CONCLAVE_TEST_SERVER=embedded`, the embedded server. It takes the place of a single server without settings of its own.
 *    Nothing else can be started then.
 * 3. Real servers of the installation that `installation.mjs` finds.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromEnvironment } from '../environment.mjs';
import { freePort } from '../ports.mjs';
import { EmbeddedServer, prefersEmbedded } from './embedded.mjs';
import { findClassPath } from './installation.mjs';
import { HERE, ZooKeeperServer } from './server.mjs';

/** @import { Machine } from './server.mjs' */

/** The connect string in `ZOOKEEPER`, if it is set. */
export function externalEnsemble() {
  return fromEnvironment('ZOOKEEPER');
}

/**
 * Starts a single server or an ensemble in a new temporary folder, which `stop` removes.
 *
 * @param {object} [options]
 * @param {number} [options.servers]
 * @param {number} [options.tickMs] ZooKeeper's `tickTime`. Sessions expire at multiples of it
 * @param {number} [options.port] the client port of a single server
 * @param {Record<string, string | number>} [options.settings] lines of `zoo.cfg` to add or to replace
 * @param {string} [options.jaas] the text of the servers' JAAS configuration, which makes them take SASL
 * @param {readonly string[]} [options.javaOptions] options to add to each server's JVM
 * @param {readonly Machine[]} [options.machines] where each server runs
 * @param {(link: { from: number, to: number, port: number }) => Promise<number>} [options.route] returns the port by
 *   which one server of an ensemble reaches a port of another server. With it a test can put a proxy in between
 * @param {boolean} [options.embedded] whether the embedded server takes the place of a single server without settings of its own
 */
export async function startZooKeeper({
  servers = 1,
  tickMs = 200,
  port,
  settings = {},
  jaas,
  javaOptions = [],
  machines = [],
  route = async (link) => link.port,
  embedded = prefersEmbedded(),
} = {}) {
  const isPlain =
    servers === 1 && Object.keys(settings).length + javaOptions.length === 0 && jaas === undefined;
  if (embedded && isPlain) return startEmbedded({ port: port ?? (await freePort()), tickMs });
  if (embedded)
    throw new Error(
      'CONCLAVE_TEST_SERVER is embedded, but a real server was asked for: several, or one with settings of its own. ' +
        'test/support/vitest/groups.mjs says which test files need one.',
    );
  const classPath = await findClassPath();
  const root = await mkdtemp(join(tmpdir(), 'conclave-zookeeper-'));
  const places = [];
  for (let id = 1; id <= servers; id++) {
    places.push({
      id,
      folder: machines[id - 1]?.folder ?? join(root, String(id)),
      machine: machines[id - 1] ?? HERE,
      port: port ?? (await freePort()),
      quorum: [await freePort(), await freePort()],
    });
  }
  for (const { id, folder, machine, port: clientPort } of places) {
    /** @type {Record<string, string | number>} */
    const peers = {};
    for (const { id: to, machine: peer, quorum } of servers === 1 ? [] : places) {
      const ports = quorum.map((peerPort) =>
        to === id ? peerPort : route({ from: id, to, port: peerPort }),
      );
      peers[`server.${to}`] = `${peer.host}:${(await Promise.all(ports)).join(':')}`;
    }
    const lines = {
      tickTime: tickMs,
      minSessionTimeout: 2 * tickMs,
      maxSessionTimeout: 60_000,
      dataDir: folder,
      clientPort,
      clientPortAddress: machine.host,
      maxClientCnxns: 0,
      'admin.enableServer': 'false',
      '4lw.commands.whitelist': '*',
      initLimit: 50,
      syncLimit: 25,
      ...peers,
      ...settings,
    };
    await mkdir(folder);
    await writeFile(join(folder, 'myid'), String(id));
    await writeFile(
      join(folder, 'zoo.cfg'),
      Object.entries(lines)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    if (jaas !== undefined) await writeFile(jaasFile(folder), jaas);
  }
  const all = places.map(
    ({ folder, port: clientPort, id, machine }) =>
      new ZooKeeperServer({
        classPath,
        folder,
        port: clientPort,
        id,
        machine,
        javaOptions:
          jaas === undefined
            ? javaOptions
            : [`-Djava.security.auth.login.config=${jaasFile(folder)}`, ...javaOptions],
      }),
  );
  const stop = async () => {
    await Promise.all(all.map((server) => server.kill()));
    await rm(root, { recursive: true, force: true });
  };
  try {
    await Promise.all(all.map((server) => server.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { servers: all, connectString: all.map((server) => server.connectString).join(','), stop };
}

/** @param {string} folder */
function jaasFile(folder) {
  return join(folder, 'jaas.conf');
}

/** @param {{ port: number, tickMs: number }} place */
async function startEmbedded(place) {
  const server = new EmbeddedServer(place);
  await server.start();
  // Typed as a real server, so that callers don't have to distinguish the two.
  const servers = /** @type {ZooKeeperServer[]} */ (/** @type {unknown} */ ([server]));
  return { servers, connectString: server.connectString, stop: () => server.end() };
}

/**
 * The ensemble that `ZOOKEEPER` names, or else a new server, as when the embedded one is asked for. `stop` stops only a server that was
 * started here.
 *
 * @param {Parameters<typeof startZooKeeper>[0]} [options]
 */
export async function useZooKeeper(options) {
  const connectString = externalEnsemble();
  if (connectString === undefined || options?.embedded)
    return { ...(await startZooKeeper(options)), external: false };
  return { servers: [], connectString, external: true, stop: async () => undefined };
}
