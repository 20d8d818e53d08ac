import { once } from 'node:events';

/** @import { ChildProcess } from 'node:child_process' */

/** The servers of this process that run, each with the signal that ends it immediately. @type {Map<ChildProcess, NodeJS.Signals>} */
const running = new Map();

// One listener for all, because Node reports many as a leak.
process.once('exit', () => {
  for (const [child, signal] of running) child.kill(signal);
});

/** No such server outlives this process, however the process exits. @param {ChildProcess} child @param {NodeJS.Signals} [signal] */
export function endWithUs(child, signal = 'SIGKILL') {
  running.set(child, signal);
  child.once('exit', () => running.delete(child));
}

/** Ends a process, if it runs, and waits for its end. @param {ChildProcess} child @param {NodeJS.Signals} [signal] */
export async function endProcess(child, signal = 'SIGKILL') {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/**
 * Resolves when a server has logged that it is ready.
 *
 * @param {ChildProcess} server
 * @param {{ name: string, log: import('node:stream').Readable, says: RegExp, withinMs: number }} what `says`: in the log, when it is ready
 * @returns {Promise<void>} rejects if the server ends, or isn't ready in time; the error has the end of the log
 */
export function untilReady(server, { name, log, says, withinMs }) {
  return new Promise((resolve, reject) => {
    let logged = '';
    /** @param {string} why @param {Error} [cause] */
    const fail = (why, cause) => {
      clearTimeout(timer);
      reject(new Error(`${name} did not start: ${why}\n${logged}`, { cause }));
    };
    const timer = setTimeout(() => fail(`not ready within ${withinMs} ms`), withinMs);
    server.once('error', (error) => fail(error.message, error));
    server.once('exit', (code, signal) => fail(`it ended (${code ?? signal})`));
    log.setEncoding('utf8').on('data', (text) => {
      logged = (logged + text).slice(-20_000);
      if (!says.test(logged)) return;
      clearTimeout(timer);
      resolve();
    });
  });
}
