import { execFile } from 'node:child_process';
import { cpSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BUNDLERS } from './bundlers.mjs';
import { link } from './consumer.mjs';

/** @typedef {import('./checks.mjs').Check} Check */
/** @typedef {{ code: number | null, signal: string | null, stdout: string, stderr: string }} Outcome */

const PROGRAMS = join(import.meta.dirname, 'programs');
const TIMEOUT_MS = 30_000;

const ELECTION = 'leads: term 1, a later token: true\nmeasured: 1 terms\nNO_NODE, a ConclaveError: true\n';

/**
 * Bundles each program into one file with each bundler, and runs it in a folder without modules or other files.
 *
 * @param {string} installed - a user's folder in which Conclave is installed
 * @param {(name: string) => string} folderFor - makes an empty folder with that name
 * @returns {Check[]}
 */
export function bundles(installed, folderFor) {
  cpSync(PROGRAMS, join(installed, 'programs'), { recursive: true });
  return BUNDLERS.map(({ name, ending, bundle }) => ({
    name: `runs bundled by ${name}: an election, with logs and without, a dashboard, a thread with a handle, the watchdog, and a stall`,
    check: async () => {
      const folder = folderFor(name.replaceAll(/\W+/g, '-'));
      const bundled = async (/** @type {string} */ program) => {
        const output = join(folder, program, `${program}.${ending}`);
        await bundle(join(installed, 'programs', `${program}.mjs`), output);
        return output;
      };
      const election = await bundled('election');
      const watchdog = await bundled('watchdog');
      const quiet = await run(election);
      expect(quiet, 'an election', quiet.code === 0 && quiet.stdout === ELECTION);
      const noPino = await run(election, LOGGING);
      expect(
        noPino,
        'logs without pino',
        isLogged(noPino) || /expected .*pino.*`logger`/s.test(noPino.stderr),
      );
      link(dirname(election), 'pino');
      const logged = await run(election, LOGGING);
      expect(logged, 'logs with pino beside the bundle', isLogged(logged));
      const page = await run(await bundled('dashboard'));
      expect(page, 'the dashboard', page.code === 0 && page.stdout === DASHBOARD);
      const thread = await bundled('thread');
      const handle = await run(await bundled('handle'), {}, [thread]);
      expect(handle, 'a handle', handle.code === 0 && handle.stdout === HANDLE);
      const { size } = statSync(thread);
      if (size > MOST_OF_A_THREAD)
        throw new Error(`the thread's bundle has ${size} bytes: does it load a session?`);
      const stalled = await run(await bundled('stalled'));
      expect(stalled, 'a stall', stalled.code === 0 && stalled.stdout === STALLED);
      const blocked = await run(watchdog);
      const said = 'blocked past the end of its lease';
      expect(blocked, 'the watchdog', blocked.signal === 'SIGKILL' && blocked.stderr.includes(said));
    },
  }));
}

const DASHBOARD = '200 text/html; charset=utf-8, connected: true\n';
const HANDLE =
  'a thread: term 1 is held\na thread: term 1 is over: stopped, a TermEndedError: true\nthis thread: is held: false\n';
const STALLED = 'stalled: is held: true\n';
/** In bytes. Not all bundlers minify. */
const MOST_OF_A_THREAD = 20_000;
const LOGGING = { CONCLAVE_LOG_LEVEL: 'info' };

/** @param {Outcome} outcome */
function isLogged({ code, stderr }) {
  return code === 0 && stderr.includes('"name":"conclave"');
}

/** @param {Outcome} outcome @param {string} what @param {boolean} isRight */
function expect(outcome, what, isRight) {
  if (!isRight) throw new Error(`${what}: ${JSON.stringify(outcome, undefined, 2)}`);
}

/**
 * @param {string} file
 * @param {Record<string, string>} [variables]
 * @param {readonly string[]} [args]
 * @returns {Promise<Outcome>}
 */
async function run(file, variables = {}, args = []) {
  const options = { cwd: dirname(file), timeout: TIMEOUT_MS, env: { ...process.env, ...variables } };
  return await new Promise((resolve) => {
    const child = execFile(process.execPath, [file, ...args], options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr: stderr.slice(0, 2000) }),
    );
  });
}
