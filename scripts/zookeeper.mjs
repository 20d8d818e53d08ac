/**
 * Finds and runs ZooKeeper servers for the tests, the demo and the examples.
 *
 * Where the server comes from, in this order: `ZOOKEEPER` in the environment names a running ensemble;
 * `ZOOKEEPER_HOME` a distribution's folder; Debian's jar; else `apt-get install zookeeper`, as root. With
 * `CONCLAVE_TEST_SERVER=embedded`, the embedded server takes the place of a single server without settings of its own.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { installDebianPackages } from './debian.mjs';
import { EmbeddedServer, prefersEmbedded } from './embedded-zookeeper.mjs';

const DEBIAN_JAR = '/usr/share/java/zookeeper.jar';
// What the server's own manifest leaves out: something that logs, and what Netty needs to serve TLS.
const DEBIAN_EXTRAS = ['slf4j-simple', 'netty-codec', 'netty-resolver', 'netty-transport-native-unix-common'];
const DEBIAN_PACKAGES = ['zookeeper', 'default-jre-headless', 'libslf4j-java', 'libnetty-java'];
const OTHER_WAYS = [
  'ZOOKEEPER_HOME=/path/to/apache-zookeeper-3.x.y-bin (and java on the PATH)',
  'ZOOKEEPER=host:port,host:port to use servers that run already',
  'with Docker: docker compose up -d --wait, then ZOOKEEPER=127.0.0.1:2181,127.0.0.1:2182,127.0.0.1:2183',
];
const MAIN_CLASS = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
const START_WITHIN_MS = 60_000;

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The ensemble that `ZOOKEEPER` names, if it names one. */
export function externalEnsemble() {
  const value = process.env.ZOOKEEPER?.trim();
  return value === undefined || value === '' ? undefined : value;
}

/** The class path of a ZooKeeper distribution, which is installed if it has to be and can be. */
export async function findClassPath() {
  const home = process.env.ZOOKEEPER_HOME?.trim();
  if (home !== undefined && home !== '') return classPathOfDistribution(home);
  if (!existsSync(DEBIAN_JAR) || !hasJava()) installDebianPackages('ZooKeeper', DEBIAN_PACKAGES, OTHER_WAYS);
  return [DEBIAN_JAR, ...DEBIAN_EXTRAS.map((name) => `/usr/share/java/${name}.jar`)].join(':');
}

/** @param {string} home */
async function classPathOfDistribution(home) {
  const jars = await readdir(join(home, 'lib')).catch(() => /** @type {string[]} */ ([]));
  const usable = jars.filter((name) => name.endsWith('.jar'));
  if (!usable.some((name) => name.startsWith('zookeeper-'))) {
    throw new Error(
      `ZOOKEEPER_HOME is ${home}: expected a ZooKeeper distribution, with its jars in ${join(home, 'lib')}`,
    );
  }
  return usable.map((name) => join(home, 'lib', name)).join(':');
}

/** The version of that distribution, `3.8.0` say, by the name of its jar. */
export async function installedVersion() {
  const [jar = ''] = (await findClassPath())
    .split(':')
    .filter((path) => /\/zookeeper(-\d[^/]*)?\.jar$/.test(path));
  const names = await readdir(dirname(jar)); // Debian's has no version in its name, and a link beside it that has.
  const version = names.map((name) => /^zookeeper-(\d+\.\d+\.\d+)[^/]*\.jar$/.exec(name)?.[1]).find(Boolean);
  if (version === undefined) throw new Error(`${jar}: no jar beside it tells the version of this ZooKeeper`);
  return version;
}

function hasJava() {
  try {
    execFileSync('java', ['-version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

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

/**
 * Asks a server one of ZooKeeper's four-letter words.
 *
 * @param {number} port
 * @param {string} word
 * @param {string} [host]
 * @returns {Promise<string>}
 */
export function fourLetterWord(port, word, host = '127.0.0.1') {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host }, () => socket.write(word));
    let answer = '';
    socket.setEncoding('utf8').setTimeout(5000, () => socket.destroy(new Error(`no answer to ${word}`)));
    socket.on('data', (text) => {
      answer += text;
    });
    socket.on('error', reject).on('close', () => resolve(answer));
  });
}

/**
 * Where a server runs, if that is not simply here.
 *
 * @typedef {object} Machine
 * @property {string} host the address that it listens on, and by which the others know it
 * @property {readonly string[]} [launcher] the command that runs a command there, such as `ip netns exec`. It has to become
 *   that command, so that its process is the server's
 * @property {Record<string, string>} [env] more variables of the server's environment
 * @property {string} [folder] where its data go, if not to a folder that goes with the server: its parent exists
 */

/** @type {Machine} */
const HERE = { host: '127.0.0.1' };

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();

// Whatever ends this process, no server stays behind. One listener for all: Node takes many for a leak.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** One server, with its own folder for its data. */
export class ZooKeeperServer {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process;
  /** @type {string} */
  #classPath;
  /** @type {string} */
  #folder;
  /** @type {Machine} */
  #machine;
  /** @type {string} */
  #log = '';

  /**
   * @param {{ classPath: string, folder: string, port: number, id: number, machine?: Machine }} place
   */
  constructor({ classPath, folder, port, id, machine = HERE }) {
    this.#classPath = classPath;
    this.#folder = folder;
    this.#machine = machine;
    this.port = port;
    /** Its number in the ensemble, from 1. */
    this.id = id;
  }

  get connectString() {
    return `${this.host}:${this.port}`;
  }

  get host() {
    return this.#machine.host;
  }

  /** The server's process id, while it runs. */
  get pid() {
    return this.#process?.pid;
  }

  /** Starts it and waits until it serves. */
  async start() {
    const { launcher = [], env } = this.#machine;
    const [command = 'java', ...args] = [...launcher, 'java'];
    const child = spawn(
      command,
      [
        ...args,
        '-Xmx512m',
        '-XX:+UseSerialGC',
        '-XX:TieredStopAtLevel=1',
        '-Dzookeeper.forceSync=no',
        '-cp',
        this.#classPath,
        MAIN_CLASS,
        join(this.#folder, 'zoo.cfg'),
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } },
    );
    this.#process = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      this.#log = (this.#log + text).slice(-20_000);
    });
    /** @type {Error | undefined} */
    let failure;
    child.once('error', (error) => {
      failure = error;
    });
    child.once('exit', (code, signal) => {
      failure ??= new Error(`ZooKeeper ended (${code ?? signal})`);
    });
    const deadline = performance.now() + START_WITHIN_MS;
    // `ruok` is answered before the server serves: `srvr` tells the truth.
    while ((await this.mode()) === '') {
      if (failure !== undefined || performance.now() > deadline) {
        throw new Error(`ZooKeeper did not start on port ${this.port}:\n${this.#log}`, { cause: failure });
      }
      await pause(50);
    }
  }

  /** Whether it leads its ensemble, follows, or is alone; `''` when it doesn't serve. */
  async mode() {
    const answer = await fourLetterWord(this.port, 'srvr', this.host).catch(() => '');
    return /Mode: (\w+)/.exec(answer)?.[1] ?? '';
  }

  /** Stands still from now on, its connections open: a machine that hangs. */
  pause() {
    this.#process?.kill('SIGSTOP');
  }

  /** Goes on after {@link pause}. */
  resume() {
    this.#process?.kill('SIGCONT');
  }

  /** Stops it; its data stay. */
  async stop() {
    await this.kill('SIGTERM');
  }

  /** Removes the data of a server that doesn't run: it gets those of the others when it starts. */
  async forget() {
    await rm(join(this.#folder, 'version-2'), { recursive: true, force: true });
  }

  /** Keeps a copy of the data of a server that doesn't run. */
  async backUp() {
    await cp(join(this.#folder, 'version-2'), join(this.#folder, 'backup'), { recursive: true });
  }

  /** Puts the data of {@link backUp} in the place of what a server that doesn't run has now. */
  async restoreBackup() {
    await this.forget();
    await cp(join(this.#folder, 'backup'), join(this.#folder, 'version-2'), { recursive: true });
  }

  /** @param {NodeJS.Signals} signal */
  async kill(signal = 'SIGKILL') {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await exited;
  }
}

/**
 * One server alone, or an ensemble, with data of its own that go with `stop`.
 *
 * @param {object} [options]
 * @param {number} [options.servers]
 * @param {number} [options.tickMs] how fine expiry is told
 * @param {number} [options.port] of a single server
 * @param {Record<string, string | number>} [options.settings] more lines of `zoo.cfg`, or others in their place
 * @param {readonly Machine[]} [options.machines] where each of them runs
 * @param {(link: { from: number, to: number, port: number }) => Promise<number>} [options.route] which port leads from
 *   one server of an ensemble to a port of another: for a proxy between the two
 */
export async function startZooKeeper({
  servers = 1,
  tickMs = 200,
  port,
  settings = {},
  machines = [],
  route = async (link) => link.port,
} = {}) {
  if (prefersEmbedded() && servers === 1 && Object.keys(settings).length === 0)
    return startEmbedded({ port: port ?? (await freePort()), tickMs });
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
  }
  const all = places.map(
    ({ folder, port: clientPort, id, machine }) =>
      new ZooKeeperServer({ classPath, folder, port: clientPort, id, machine }),
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

/** @param {{ port: number, tickMs: number }} place */
async function startEmbedded(place) {
  const server = new EmbeddedServer(place);
  await server.start();
  // The type is the real one's: whoever uses it needn't know.
  const servers = /** @type {ZooKeeperServer[]} */ (/** @type {unknown} */ ([server]));
  return { servers, connectString: server.connectString, stop: () => server.end() };
}

/**
 * The ensemble that the environment names, or a server of our own. `stop` ends only the latter.
 *
 * @param {Parameters<typeof startZooKeeper>[0]} [options]
 */
export async function useZooKeeper(options) {
  const connectString = externalEnsemble();
  if (connectString === undefined) return { ...(await startZooKeeper(options)), external: false };
  return { servers: [], connectString, external: true, stop: async () => undefined };
}
