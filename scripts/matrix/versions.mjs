import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The oldest supported version, the releases with long-term support, and the newest version. */
export const NODE_VERSIONS = ['20.19', '22', '24', 'latest'];

/**
 * Installs a version of Node.js from npm's package `node`, unless the cache has it already.
 *
 * @param {string} version - as npm understands it: `22`, `latest`
 * @param {string} cache - a folder outside of this project, because npm would use this project's node_modules
 * @returns {Promise<string>} the path of the binary
 */
export async function installNode(version, cache) {
  const folder = join(cache, version);
  const binary = join(folder, 'node_modules/node/bin/node');
  // `latest` is installed again, because there may be a newer version.
  if (existsSync(binary) && version !== 'latest') return binary;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const options = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', `node@${version}`];
  await run('npm', options, { cwd: folder });
  return binary;
}

/** @param {string} binary @returns {Promise<string>} */
export async function versionOf(binary) {
  return (await run(binary, ['--version'])).stdout.trim();
}
