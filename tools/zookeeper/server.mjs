import { spawn } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fourLetterWord } from './four-letter-word.mjs';

const MAIN_CLASS = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
const START_WITHIN_MS = 60_000;

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
export const HERE = { host: '127.0.0.1' };

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
