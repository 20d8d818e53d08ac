/**
 * Finds and runs a PostgreSQL server for the tests.
 *
 * Looks for the server in this order: a running database that `POSTGRES` in the environment names; Debian's package. If there is
 * neither, runs `apt-get install postgresql`, as root.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installDebianPackages } from '../debian/packages.mjs';
import { fromEnvironment } from '../environment.mjs';
import { endProcess, endWithUs, untilReady } from '../processes.mjs';

const DEBIAN_VERSIONS = '/usr/lib/postgresql';
const SETPRIV = '/usr/bin/setpriv';
const USER = 'conclave';
// Only a part of the socket's name: the server listens on a socket in its own folder, so it conflicts with no other server.
const PORT = 5432;
const START_WITHIN_MS = 60_000;

/** The connection string in `POSTGRES`, if it is set. */
export function externalDatabase() {
  return fromEnvironment('POSTGRES');
}

/** The folder with the newest version of PostgreSQL's programs. Installs them if they are missing. */
export async function findPostgres() {
  const found = await newestPrograms();
  if (found !== undefined) return found;
  installDebianPackages(
    'PostgreSQL',
    ['postgresql'],
    ['POSTGRES=postgresql://user:password@host:port/database to use a server that runs already'],
  );
  const installed = await newestPrograms();
  if (installed === undefined) throw new Error(`apt-get has left no PostgreSQL in ${DEBIAN_VERSIONS}`);
  return installed;
}

/** Looks through Debian's folders, one for each major version. */
async function newestPrograms() {
  const versions = await readdir(DEBIAN_VERSIONS).catch(() => /** @type {string[]} */ ([]));
  return versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN_VERSIONS, version, 'bin'))
    .find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

/** The user for the server, which refuses to run as root: the package's user `postgres`, or else `nobody`. */
function serverUser() {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    try {
      /** @param {string} option */
      const id = (option) =>
        Number(execFileSync('id', [option, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // There is no such user: try the next name.
    }
  }
  throw new Error('PostgreSQL does not run as root: expected a user named postgres or nobody');
}

/** The environment without PostgreSQL's own variables, and with English messages. */
function serverEnvironment() {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
  return { ...Object.fromEntries(own), LC_ALL: 'C' };
}

/**
 * Starts an empty database cluster, which `stop` removes. The server listens only on a socket in a folder that only its user and
 * root can enter, so it asks for no password. For speed the server doesn't wait for the disk, so a crash may lose data.
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
    // At SIGQUIT the server neither waits for its clients nor writes its data, which are removed anyway.
    if (server !== undefined) await endProcess(server, 'SIGQUIT');
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
      // The kernel also stops the server when this process dies without running its exit handler.
      ...(existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'QUIT'] : []),
      join(programs, 'postgres'),
      '-D',
      data,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ];
    const started = spawn(/** @type {string} */ (command[0]), command.slice(1), {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    server = started;
    endWithUs(server, 'SIGQUIT'); // It then stops its own processes immediately.
    await untilReady(server, {
      ...{ name: 'PostgreSQL', log: started.stderr, withinMs: START_WITHIN_MS },
      says: /ready to accept connections/,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const where = new URLSearchParams({ host: folder, port: String(PORT), user: USER });
  return { connectionString: `postgresql:///postgres?${where}`, stop };
}

/** The database that `POSTGRES` names, or else a new server. `stop` stops only a server that was started here. */
export async function usePostgres() {
  const connectionString = externalDatabase();
  if (connectionString === undefined) return { ...(await startPostgres()), external: false };
  return { connectionString, external: true, stop: async () => undefined };
}
