import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The oldest supported version, the releases with long-term support, and the newest version. */
export const NODE_VERSIONS = ['20.19', '22', '24', 'latest'];

/**
 * Other runtimes, by the names of their npm packages.
 *
 * @type {Readonly<Record<string, { readonly title: string, readonly options: readonly string[] }>>} `options`: how it runs a program
 */
export const OTHER_RUNTIMES = {
  bun: { title: 'Bun', options: [] },
  deno: { title: 'Deno', options: ['run', '--allow-all'] },
};

/**
 * Installs a version of Node.js from npm's package `node`, unless the cache has it already.
 *
 * @param {string} version - as npm understands it: `22`, `latest`
 * @param {string} cache - a folder outside of this project, because npm would use this project's node_modules
 * @returns {Promise<string>} the path of the binary
 */
export async function installNode(version, cache) {
  return await install(`node@${version}`, 'node_modules/node/bin/node', join(cache, version));
}

/**
 * Installs the newest version of another runtime from its npm package.
 *
 * @param {string} name - of {@link OTHER_RUNTIMES}
 * @param {string} cache - as above
 * @returns {Promise<string>} the path of the binary
 */
export async function installRuntime(name, cache) {
  return await install(`${name}@latest`, `node_modules/.bin/${name}`, join(cache, name));
}

/** @param {string} what @param {string} path @param {string} folder @returns {Promise<string>} */
async function install(what, path, folder) {
  const binary = join(folder, path);
  // `latest` is installed again, because there may be a newer version.
  if (existsSync(binary) && !what.endsWith('@latest')) return binary;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const options = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', what];
  await run('npm', options, { cwd: folder });
  return binary;
}

/** @param {string} binary @returns {Promise<string>} as the first line of its output has it: `v22.1.0`, `2.9.6` */
export async function versionOf(binary) {
  const { stdout } = await run(binary, ['--version']);
  return /v?\d+\.\d+\.\S+/.exec(stdout)?.[0] ?? stdout.trim();
}
