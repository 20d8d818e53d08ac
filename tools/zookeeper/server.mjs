import { spawn } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { endProcess, endWithUs } from '../processes.mjs';
import { fourLetterWord } from './four-letter-word.mjs';

const MAIN_CLASS = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
// Less than a test may take, so that its error, with the server's log, is seen.
const START_WITHIN_MS = 45_000;

/**
 * The place where a server runs, if it isn't 127.0.0.1 of this machine.
 *
 * @typedef {object} Machine
 * @property {string} host the address on which the server listens and at which the other servers reach it
 * @property {readonly string[]} [launcher] a command that runs another command on the machine, such as `ip netns exec`. It must
 *   `exec` that other command, so that its own process id becomes the server's
 * @property {Record<string, string>} [env] variables to add to the server's environment
 * @property {string} [folder] where the server keeps its data, by default a folder that is removed with the server. The parent
 *   folder must exist
 */

/** @type {Machine} */
export const HERE = { host: '127.0.0.1' };

/** One server process, with a folder for its data. */
export class ZooKeeperServer {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process;
  /** @type {string} */
  #classPath;
  /** @type {string} */
  #folder;
  /** @type {Machine} */
  #machine;
  /** @type {readonly string[]} */
  #javaOptions;
  /** @type {string} */
  #log = '';

  /**
   * @param {{
   *   classPath: string, folder: string, port: number, id: number, machine?: Machine, javaOptions?: readonly string[]
   * }} place
   */
  constructor({ classPath, folder, port, id, machine = HERE, javaOptions = [] }) {
    this.#classPath = classPath;
    this.#folder = folder;
    this.#machine = machine;
    this.#javaOptions = javaOptions;
    this.port = port;
    /** The server's number in the ensemble, from 1. */
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

  /**
   * The end of what the server has written to standard error: its log, if its logger is slf4j-simple, as Debian's is. A distribution's own
   * logger writes to standard output, which is not kept.
   */
  get log() {
    return this.#log;
  }

  /** Starts the server and waits until it serves requests. */
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
        ...this.#javaOptions,
        '-cp',
        this.#classPath,
        MAIN_CLASS,
        join(this.#folder, 'zoo.cfg'),
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } },
    );
    this.#process = child;
    endWithUs(child);
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
    // A server answers `ruok` before it serves requests. Only its answer to `srvr` shows whether it serves them.
    while ((await this.mode()) === '') {
      if (failure !== undefined || performance.now() > deadline) {
        throw new Error(`ZooKeeper did not start on port ${this.port}:\n${this.#log}`, { cause: failure });
      }
      await pause(50);
    }
  }

  /** `leader`, `follower` or `standalone`; `''` while the server doesn't serve requests. */
  async mode() {
    const answer = await fourLetterWord(this.port, 'srvr', this.host).catch(() => '');
    return /Mode: (\w+)/.exec(answer)?.[1] ?? '';
  }

  /** Stops the process (SIGSTOP) with its connections open, as when a machine hangs. */
  pause() {
    this.#process?.kill('SIGSTOP');
  }

  /** Continues the process after {@link pause}. */
  resume() {
    this.#process?.kill('SIGCONT');
  }

  /** Stops the server and keeps its data. */
  async stop() {
    await this.kill('SIGTERM');
  }

  /** Removes the data of a stopped server. When the server starts again, it copies the data of the other servers. */
  async forget() {
    await rm(join(this.#folder, 'version-2'), { recursive: true, force: true });
  }

  /** Copies the data of a stopped server. */
  async backUp() {
    await cp(join(this.#folder, 'version-2'), join(this.#folder, 'backup'), { recursive: true });
  }

  /** Replaces the data of a stopped server by the copy that {@link backUp} made. */
  async restoreBackup() {
    await this.forget();
    await cp(join(this.#folder, 'backup'), join(this.#folder, 'version-2'), { recursive: true });
  }

  /** @param {NodeJS.Signals} signal */
  async kill(signal = 'SIGKILL') {
    const child = this.#process;
    this.#process = undefined;
    if (child !== undefined) await endProcess(child, signal);
  }
}
