/**
 * Runs the embedded ZooKeeper in a process of its own, behind the interface of `ZooKeeperServer`, for tests with
 * CONCLAVE_TEST_SERVER=embedded. The data are in the memory of that process, and are lost when the process ends.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { endProcess } from '../processes.mjs';

/** Whether tests run on the embedded server where they can, instead of on a real server. */
export function prefersEmbedded() {
  return process.env.CONCLAVE_TEST_SERVER === 'embedded';
}

export class EmbeddedServer {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process;
  /** @type {number} */
  #tickMs;
  #isUp = false;

  /** @param {{ port: number, tickMs: number }} place */
  constructor({ port, tickMs }) {
    this.port = port;
    this.#tickMs = tickMs;
    this.id = 1;
  }

  get connectString() {
    return `127.0.0.1:${this.port}`;
  }

  get pid() {
    return this.#process?.pid;
  }

  /** Starts the server, or restarts it with its data after {@link kill}. */
  async start() {
    if (this.#process !== undefined) return this.#command('restart');
    const child = fork(import.meta.filename, [String(this.port), String(this.#tickMs)]);
    this.#process = child;
    await this.#acknowledged('start');
    this.#isUp = true;
    // The child ends when the IPC channel closes. Until then the child must not keep this process alive.
    child.channel?.unref();
    child.unref();
  }

  /** @param {'crash' | 'restart'} order */
  async #command(order) {
    const done = this.#acknowledged(order);
    this.#process?.send(order);
    await done;
    this.#isUp = order === 'restart';
  }

  /** @param {string} order */
  async #acknowledged(order) {
    const child = /** @type {import('node:child_process').ChildProcess} */ (this.#process);
    child.channel?.ref();
    const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
    child.channel?.unref();
    if (message !== 'done') throw new Error(`the embedded ZooKeeper on port ${this.port} did not ${order}`);
  }

  async mode() {
    return this.#isUp ? 'standalone' : '';
  }

  pause() {
    this.#process?.kill('SIGSTOP');
  }

  resume() {
    this.#process?.kill('SIGCONT');
  }

  async stop() {
    await this.kill();
  }

  /** Drops all connections and serves no more requests. Like a real server, it keeps its data for {@link start}. */
  async kill() {
    if (!this.#isUp) return;
    this.resume();
    await this.#command('crash');
  }

  /** Ends the process. The data are lost. */
  async end() {
    const child = this.#process;
    this.#process = undefined;
    this.#isUp = false;
    child?.ref();
    if (child !== undefined) await endProcess(child);
  }
}

async function serve() {
  const { EmbeddedZooKeeper } = await import('conclave/testing');
  const [port = 0, tickMs = 0] = process.argv.slice(2).map(Number);
  const ignore = () => undefined;
  const silent = { debug: ignore, info: ignore, warn: ignore, error: console.error };
  const server = await EmbeddedZooKeeper.start({ port, tickMs, maxSessionTimeoutMs: 60_000, logger: silent });
  process.once('disconnect', () => process.exit());
  process.on('message', async (order) => {
    await (order === 'crash' ? server.crash() : server.restart());
    process.send?.('done');
  });
  process.send?.('done');
}

if (process.argv[1] === import.meta.filename) await serve();
