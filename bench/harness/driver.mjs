import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';

/**
 * @typedef {object} Contention
 * @property {string} connect the servers
 * @property {number} sessionMs the timeout of each session, in milliseconds
 * @property {string} recipe
 * @property {Readonly<Record<string, unknown>>} [options] of the recipe, for programs that have any
 */

const COMPLAINTS_CHARS = 10_000;
const INTERRUPTIONS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** Functions that kill the running drivers. @type {Set<() => void>} */
const killers = new Set();

/** Kills all drivers. Most drivers end with this process, because they read from it, but not while they carry out a command. */
const killAll = () => {
  for (const kill of killers) kill();
};

/**
 * Exits at a signal, because a signal alone ends a process without an `exit` event. If there are other listeners, they decide when the
 * process ends.
 *
 * @param {NodeJS.Signals} signal
 */
const exitOn = (signal) => {
  if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
};

/** @param {() => void} kill */
function killWithUs(kill) {
  if (killers.size === 0) {
    process.on('exit', killAll);
    for (const signal of INTERRUPTIONS) process.on(signal, exitOn);
  }
  killers.add(kill);
  return () => {
    killers.delete(kill);
    if (killers.size > 0) return;
    process.off('exit', killAll);
    for (const signal of INTERRUPTIONS) process.off(signal, exitOn);
  };
}

/** A contestant's program in a child process. `bench/peers/README.md` describes the protocol. */
export class Driver {
  /** The exit code or signal, once the program has ended and its output was read. @type {Promise<number | string>} */
  ended;
  #process;
  /** Commands without an answer yet, in the order in which they were sent.
   * @type {{ expected: string, resolve: (words: string[]) => void, reject: (error: Error) => void }[]} */
  #questions = [];
  /** The reason for the program's end, if it is known before the end. @type {string | undefined} */
  #reason;
  /** @type {Error | undefined} */
  #end;
  #complaints = '';
  /** When each standing contender holds, by the number of its session. @type {Map<number, Promise<number>>} */
  #held = new Map();
  /** The functions that settle these promises. @type {Map<number, { resolve: (at: number) => void, reject: (error: Error) => void }>} */
  #standing = new Map();

  /** @param {readonly string[]} command @param {Contention} contention */
  constructor([command = '', ...args], { connect, sessionMs, recipe, options }) {
    const more = options === undefined ? [] : [JSON.stringify(options)];
    const child = spawn(command, [...args, connect, String(sessionMs), recipe, ...more], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#process = child;
    const endsAlone = killWithUs(() => child.kill('SIGKILL'));
    child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#complaints = (this.#complaints + text).slice(-COMPLAINTS_CHARS);
    });
    // The program has ended. The `close` event rejects all commands.
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout }).on('line', (line) => this.#hear(line));
    child.once('error', ({ message }) => {
      this.#reason ??= message;
    });
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        endsAlone();
        this.#rejectAll(
          new Error(`${this.#reason ?? `the driver ended (${code ?? signal})`}\n${this.#complaints}`),
        );
        resolve(signal ?? code ?? 0);
      });
    });
  }

  /**
   * Starts a program, and waits until it takes commands.
   *
   * @param {readonly string[]} command
   * @param {Contention} contention
   */
  static async start(command, contention) {
    const driver = new Driver(command, contention);
    await driver.#answer('ready');
    return driver;
  }

  get pid() {
    return this.#process.pid;
  }

  /** The error that says why the program takes no more commands, if it has ended. */
  get end() {
    return this.#end;
  }

  /** @param {number} count the number of sessions to have open */
  async open(count) {
    await this.#ask(`open ${count}`, 'opened');
  }

  /**
   * @param {string} path
   * @param {number} count
   * @returns {Promise<number[]>} the time of each cycle, in microseconds
   */
  async cycle(path, count) {
    return (await this.#ask(`cycle ${path} ${count}`, 'took')).map(Number);
  }

  /** @param {string} path @param {number} count the number of contenders */
  async queue(path, count) {
    await this.#ask(`queue ${path} ${count}`, 'queued');
  }

  /** @returns {Promise<number>} the time of the handover, in microseconds */
  async hand() {
    const [took] = await this.#ask('hand', 'took');
    return Number(took);
  }

  async leave() {
    await this.#ask('leave', 'left');
  }

  /**
   * Lets the contender of one session join a queue, on its own.
   *
   * @param {string} path
   * @param {number} [session] its number, from 0
   */
  async stand(path, session = 0) {
    const held = new Promise((resolve, reject) => this.#standing.set(session, { resolve, reject }));
    // The caller need not ask for it, so its rejection is handled here.
    held.catch(() => undefined);
    this.#held.set(session, held);
    await this.#ask(`stand ${path} ${session}`, 'standing');
  }

  /**
   * When the program printed that this contender holds, by `performance.now()`.
   *
   * @param {number} [session] the number of a session for which {@link stand} was called
   * @returns {Promise<number>}
   */
  async held(session = 0) {
    const held = this.#held.get(session);
    if (held === undefined) throw new Error(`no contender of session ${session} stands`);
    return await held;
  }

  /** Suspends the program with its connections open. {@link kill} ends it as well. */
  freeze() {
    this.#process.kill('SIGSTOP');
  }

  /** Lets the program close its sessions, and waits for its end. */
  async quit() {
    this.#process.stdin.end('quit\n');
    return await this.ended;
  }

  /** Kills the program, and waits for its end. @param {NodeJS.Signals} [signal] */
  async kill(signal = 'SIGKILL') {
    this.#process.kill(signal);
    return await this.ended;
  }

  /** @param {string} command @param {string} expected the first word of the answer */
  async #ask(command, expected) {
    this.#process.stdin.write(`${command}\n`);
    return await this.#answer(expected);
  }

  /** @param {string} expected @returns {Promise<string[]>} */
  #answer(expected) {
    return new Promise((resolve, reject) => {
      if (this.#end === undefined) this.#questions.push({ expected, resolve, reject });
      else reject(this.#end);
    });
  }

  /** @param {string} line */
  #hear(line) {
    const [answer, ...words] = line.trim().split(' ');
    if (answer === 'held') return this.#standing.get(Number(words[0]))?.resolve(performance.now());
    if (answer === this.#questions[0]?.expected) return this.#questions.shift()?.resolve(words);
    // After `failed` the program ends by itself; after an unexpected line it may not.
    this.#reason ??= answer === 'failed' ? line : `expected the driver to say something else than: ${line}`;
    this.#process.kill('SIGKILL');
  }

  /** @param {Error} error */
  #rejectAll(error) {
    this.#end = error;
    for (const { reject } of this.#questions.splice(0)) reject(error);
    for (const { reject } of this.#standing.values()) reject(error);
  }
}
