import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const PROGRAMS = {
  election: 'scripts/package/programs/election.mjs',
  watchdog: 'scripts/package/programs/watchdog.mjs',
  handle: 'scripts/package/programs/handle.mjs',
  stalled: 'scripts/package/programs/stalled.mjs',
  replica: 'scripts/matrix/programs/replica.mjs',
  cluster: 'scripts/matrix/programs/cluster.mjs',
  conclave: 'dist/cli/main.js',
};
const LEASE_MS = 1000;
/** Longer than the watchdog's program blocks: clocks that count from the start of a thread differ by as much. */
const AGE_MS = 4000;
/** So long that a successor within `PATIENCE_MS` hasn't waited for its end. */
const LONG_LEASE_MS = 60_000;
/** The longest session timeout that the checks' server must grant, and that the replicas ask for. */
export const SESSION_TIMEOUT_MS = 180_000;
const PATIENCE_MS = 30_000;

/**
 * @typedef {object} RuntimeCheck
 * @property {string} name - a sentence about what works
 * @property {(host: Host) => Promise<void>} check - rejects with the reason if it doesn't
 */

/**
 * What is checked of a runtime that isn't Node.js, whose tests it can't run: programs that use the built package, each in processes of
 * that runtime.
 *
 * @type {readonly RuntimeCheck[]}
 */
export const RUNTIME_CHECKS = [
  {
    name: 'an election, a lock, metrics and the embedded server, in one process',
    check: async (host) => {
      const program = host.start(PROGRAMS.election);
      await program.ends(0);
      for (const line of [
        'leads: term 1, a later token: true',
        'measured: 1 terms',
        'NO_NODE, a ConclaveError: true',
      ])
        await program.prints(line);
    },
  },
  {
    name: 'a killed leader is followed when its lease is over',
    check: async (host) => {
      const words = [host.connectString, '/failover', String(LEASE_MS)];
      const first = host.start(PROGRAMS.replica, words);
      await first.prints('leads term 1, held: true');
      const second = host.start(PROGRAMS.replica, words);
      await second.prints('waits');
      first.kill('SIGKILL');
      await second.prints('leads term 2, held: true');
    },
  },
  {
    name: 'a killed worker of superviseCluster is followed at once',
    check: async (host) => {
      const program = host.start(PROGRAMS.cluster, [host.connectString, '/cluster', String(LONG_LEASE_MS)]);
      await program.prints('was followed');
      await program.ends(0);
    },
  },
  {
    name: 'the watchdog ends a leader that is blocked past its lease',
    check: async (host) => {
      const program = host.start(PROGRAMS.watchdog, [`${AGE_MS}`]);
      await program.ends('SIGKILL');
    },
  },
  {
    name: 'a worker thread sees by a handle that a term is held, and that it has ended',
    check: async (host) => {
      const program = host.start(PROGRAMS.handle, [join(root, 'scripts/package/programs/thread.mjs')]);
      await program.prints('a thread: term 1 is held');
      await program.prints('a thread: term 1 is over: stopped, a TermEndedError: true');
      await program.ends(0);
    },
  },
  {
    name: 'a leader with `maxStallMs` keeps its term while its main thread stands still for several leases',
    check: async (host) => {
      const program = host.start(PROGRAMS.stalled);
      await program.ends(0);
      await program.prints('stalled: is held: true');
    },
  },
  {
    name: '`conclave run` runs a command, and exits with its code',
    check: async (host) => {
      const runner = host.start(PROGRAMS.conclave, run('/run', [], 'echo "term $CONCLAVE_TERM"; exit 3'));
      await runner.ends(3);
      await runner.prints('term 1');
    },
  },
  {
    name: 'a killed `conclave run` takes its command along, and is followed at once',
    check: async (host) => {
      const options = ['--session-timeout', `${SESSION_TIMEOUT_MS}ms`];
      const runner = host.start(PROGRAMS.conclave, run('/killed', options, 'echo pid $$; exec sleep 600'));
      const pid = Number((await runner.prints(/pid (\d+)/))[1]);
      const next = host.start(PROGRAMS.conclave, run('/killed', options, 'echo "term $CONCLAVE_TERM"'));
      runner.kill('SIGKILL');
      await next.prints('term 2');
      await isGone(pid);
    },
  },
  {
    name: 'the command of a `conclave run` that hangs is killed',
    check: async (host) => {
      const stubborn = 'trap "" TERM; echo pid $$; while :; do sleep 0.1; done';
      const runner = host.start(PROGRAMS.conclave, run('/stopped', ['--session-timeout', '6s'], stubborn));
      const pid = Number((await runner.prints(/pid (\d+)/))[1]);
      runner.kill('SIGSTOP');
      await isGone(pid);
    },
  },
];

/** Starts the programs of one check in processes of one runtime, and ends them. */
export class Host {
  /** @param {readonly string[]} command - how the runtime runs a program @param {string} connectString - of the checks' server */
  constructor(command, connectString) {
    this.command = command;
    this.connectString = connectString;
    /** @type {Program[]} */
    this.programs = [];
  }

  /** @param {string} program @param {readonly string[]} [words] */
  start(program, words = []) {
    const [file = '', ...options] = this.command;
    const started = new Program(file, [...options, program, ...words], this.connectString);
    this.programs.push(started);
    return started;
  }

  /** Kills the programs that are left. */
  async close() {
    for (const program of this.programs) program.kill('SIGKILL');
    await Promise.all(this.programs.map(({ closed }) => closed));
  }
}

class Program {
  #output = '';
  /** @type {unknown} - how it has ended: its exit code, the signal that ended it, or why it couldn't be started */
  #outcome;

  /** @param {string} file @param {readonly string[]} words @param {string} servers */
  constructor(file, words, servers) {
    const env = { ...process.env, ZOOKEEPER: servers, CONCLAVE_LOG_LEVEL: 'error' };
    this.child = spawn(file, words, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        this.#output += text;
      });
    /** @type {Promise<void>} */
    this.closed = once(this.child, 'close').then(
      ([code, signal]) => {
        this.#outcome = code ?? signal;
      },
      (error) => {
        this.#outcome = String(error);
      },
    );
  }

  /** @param {NodeJS.Signals} signal */
  kill(signal) {
    this.child.kill(signal);
  }

  /** Waits for an output, as long as the program runs. @param {string | RegExp} what @returns {Promise<readonly string[]>} */
  async prints(what) {
    const find = () =>
      typeof what === 'string' ? this.#output.includes(what) && [what] : what.exec(this.#output);
    await until(() => Boolean(find()) || this.#outcome !== undefined);
    const found = find();
    if (!found) throw new Error(`printed no ${what}, but\n${this.#output}`);
    return found;
  }

  /** @param {number | NodeJS.Signals} outcome - its exit code, or the signal that ended it */
  async ends(outcome) {
    await until(() => this.#outcome !== undefined);
    if (this.#outcome !== outcome)
      throw new Error(`ended with ${this.#outcome}, not ${outcome}, and printed\n${this.#output}`);
  }
}

/** @param {string} path @param {readonly string[]} options @param {string} script */
function run(path, options, script) {
  return ['run', path, ...options, '--', 'sh', '-c', script];
}

/** @param {number} pid */
async function isGone(pid) {
  const isThere = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await until(() => !isThere());
  if (isThere()) throw new Error('the command is still there');
}

/** Waits until a condition is true, but not for ever: the caller looks whether it is. @param {() => boolean} condition */
async function until(condition) {
  const deadline = performance.now() + PATIENCE_MS;
  while (!condition() && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
}
