/**
 * Finds and runs a Redis server for the tests of the guides.
 *
 * Looks for the server in this order: a running server that `REDIS` in the environment names; `redis-server` on the path. If
 * there is neither, runs `apt-get install redis-server`, as root.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installDebianPackages } from '../debian/packages.mjs';
import { fromEnvironment, runs } from '../environment.mjs';
import { freePort } from '../ports.mjs';
import { endProcess, endWithUs, untilReady } from '../processes.mjs';

const PROGRAM = 'redis-server';
const START_WITHIN_MS = 30_000;

/** The URL in `REDIS`, if it is set. */
export function externalRedis() {
  return fromEnvironment('REDIS');
}

/** Installs Redis if it is missing. */
export function findRedis() {
  if (runs(PROGRAM, '--version')) return;
  installDebianPackages('Redis', [PROGRAM], ['REDIS=redis://host:port to use a server that runs already']);
}

/** The server that `REDIS` names, or else a new server without data. `stop` ends only a new server. */
export async function useRedis() {
  const url = externalRedis();
  if (url !== undefined) return { url, stop: async () => undefined };
  findRedis();
  const folder = await mkdtemp(join(tmpdir(), 'conclave-redis-'));
  const port = await freePort();
  const settings = { bind: '127.0.0.1', port, dir: folder, save: '', appendonly: 'no', daemonize: 'no' };
  const server = spawn(
    PROGRAM,
    Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  endWithUs(server);
  const stop = async () => {
    await endProcess(server);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(server, {
      ...{ name: 'Redis', log: server.stdout, withinMs: START_WITHIN_MS },
      says: /Ready to accept connections/,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `redis://127.0.0.1:${port}`, stop };
}
