/**
 * Finds and runs a PostgreSQL server for the tests and the examples.
 *
 * Where it comes from, in this order: `POSTGRES` in the environment names a database that runs already; Debian's
 * package; else `apt-get install postgresql`, as root.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installDebianPackages } from '../debian/packages.mjs';
import { fromEnvironment } from '../environment.mjs';

const DEBIAN_VERSIONS = '/usr/lib/postgresql';
const SETPRIV = '/usr/bin/setpriv';
const USER = 'conclave';
// A name only: the server listens on a socket in its own folder, so that no other server is in its way.
const PORT = 5432;
const START_WITHIN_MS = 60_000;

/** The database that `POSTGRES` names, if it names one. */
export function externalDatabase() {
  return fromEnvironment('POSTGRES');
}

/** The folder of PostgreSQL's newest programs, which are installed if they have to be and can be. */
export async function findPostgres() {
  const found = await newestPrograms();
  if (found !== undefined) return found;
  installDebianPackages(
    'PostgreSQL',
    ['postgresql'],
    ['POSTGRES=postgresql://user:password@host:port/database to use one that runs already'],
  );
  const installed = await newestPrograms();
  if (installed === undefined) throw new Error(`apt-get has left no PostgreSQL in ${DEBIAN_VERSIONS}`);
  return installed;
}

/** Debian keeps each major version in a folder of its own. */
async function newestPrograms() {
  const versions = await readdir(DEBIAN_VERSIONS).catch(() => /** @type {string[]} */ ([]));
  return versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN_VERSIONS, version, 'bin'))
    .find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

/** Whom the server runs as. It refuses to run as root: then it is the package's user, or else nobody. */
function serverUser() {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    try {
      /** @param {string} option */
      const id = (option) =>
        Number(execFileSync('id', [option, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // There is no such user: the next name is tried.
    }
  }
  throw new Error('PostgreSQL does not run as root: expected a user named postgres or nobody');
}

/** The environment without what would steer the server or its clients elsewhere, and with messages in English. */
function serverEnvironment() {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
  return { ...Object.fromEntries(own), LC_ALL: 'C' };
}

/**
 * A cluster of its own, empty, that goes with `stop`. It listens only on a socket in a folder that nobody but its user
 * (and root) may enter; therefore it trusts who comes. It keeps nothing safe on the disk: that makes it fast.
 */
export async function startPostgres() {
  const programs = await findPostgres();
  const user = serverUser();
  const folder = await mkdtemp(join(tmpdir(), 'conclave-postgres-'));
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: serverEnvironment() };
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let server;
  const stop = async () => {
    if (server !== undefined) await kill(server);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    if (user.uid !== undefined) await chown(folder, user.uid, user.gid);
    await promisify(execFile)(
      join(programs, 'initdb'),
      [
        '--auth-local=trust',
        '--auth-host=reject',
        '--encoding=UTF8',
        '--locale=C',
        '--no-sync',
        `--username=${USER}`,
        `--pgdata=${data}`,
      ],
      { ...options, timeout: START_WITHIN_MS },
    );
    const settings = {
      listen_addresses: '',
      unix_socket_directories: folder,
      unix_socket_permissions: '0700',
      port: PORT,
      fsync: 'off',
      full_page_writes: 'off',
      synchronous_commit: 'off',
      log_destination: 'stderr',
      logging_collector: 'off',
    };
    const command = [
      // The kernel ends the server when this process ends in a way that runs no handler of ours.
      ...(existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'QUIT'] : []),
      join(programs, 'postgres'),
      '-D',
      data,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ];
    server = spawn(/** @type {string} */ (command[0]), command.slice(1), {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await ready(server);
  } catch (error) {
    await stop();
    throw error;
  }
  const where = new URLSearchParams({ host: folder, port: String(PORT), user: USER });
  return { connectionString: `postgresql:///postgres?${where}`, stop };
}

/**
 * Resolves when the server has said that it takes connections.
 *
 * @param {import('node:child_process').ChildProcess} server
 * @returns {Promise<void>}
 */
function ready(server) {
  // Whatever ends this process, the server doesn't stay behind. At this signal it ends its own processes, at once.
  const quitWithUs = () => server.kill('SIGQUIT');
  process.once('exit', quitWithUs);
  server.once('exit', () => process.off('exit', quitWithUs));
  return new Promise((resolve, reject) => {
    let log = '';
    /** @param {string} why @param {Error} [cause] */
    const fail = (why, cause) => {
      clearTimeout(timer);
      reject(new Error(`PostgreSQL did not start: ${why}\n${log}`, { cause }));
    };
    const timer = setTimeout(() => fail(`not ready within ${START_WITHIN_MS} ms`), START_WITHIN_MS);
    server.once('error', (error) => fail(error.message, error));
    server.once('exit', (code, signal) => fail(`it ended (${code ?? signal})`));
    server.stderr?.setEncoding('utf8').on('data', (text) => {
      log = (log + text).slice(-20_000);
      if (!log.includes('ready to accept connections')) return;
      clearTimeout(timer);
      resolve();
    });
  });
}

/** @param {import('node:child_process').ChildProcess} server */
async function kill(server) {
  if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const exited = new Promise((resolve) => server.once('exit', resolve));
  // It doesn't wait for its clients and writes nothing more: the data go anyway.
  server.kill('SIGQUIT');
  await exited;
}

/** The database that the environment names, or a server of our own. `stop` ends only the latter. */
export async function usePostgres() {
  const connectionString = externalDatabase();
  if (connectionString === undefined) return { ...(await startPostgres()), external: false };
  return { connectionString, external: true, stop: async () => undefined };
}
