import { execFile } from 'node:child_process';
import { lstat, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { glob } from 'tinyglobby';
import { median, rounded, sum } from '../harness/quantiles.mjs';
import { timedProcess } from '../harness/timed-process.mjs';

const ROOT = new URL('../..', import.meta.url).pathname;
const IMPORT = new URL('processes/import.mjs', import.meta.url);
const INSTALL = ['install', '--omit=dev', '--omit=peer', '--ignore-scripts', '--no-audit', '--no-fund'];
const MEGABYTE = 1_000_000;
const run = promisify(execFile);

/**
 * Measures the size of an installation of the package, and the time to import it.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function packageRow({ quick, say }) {
  const folder = await mkdtemp(join(tmpdir(), 'conclave-package-'));
  try {
    const packages = await install(folder);
    say(`package: ${packages.length} packages installed`);
    return report(packages, await importTimes(quick ? 5 : 21));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @typedef {{ name: string, bytes: number, needs: string[] }} Package */

/** @param {string} folder @returns {Promise<Package[]>} */
async function install(folder) {
  const packing = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: ROOT,
    maxBuffer: 64 * MEGABYTE,
  });
  const [{ filename }] = JSON.parse(packing.stdout);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'measured', private: true }));
  await run('npm', [...INSTALL, '--prefer-offline', join(folder, filename)], { cwd: folder });
  return await packagesIn(folder);
}

/** @param {string} folder @returns {Promise<Package[]>} */
async function packagesIn(folder) {
  const manifests = await glob('node_modules/{*,@*/*}/package.json', { cwd: folder, absolute: true });
  return await Promise.all(
    manifests.sort().map(async (path) => {
      const { name, dependencies = {} } = JSON.parse(await readFile(path, 'utf8'));
      return { name, bytes: await bytesBelow(dirname(path)), needs: Object.keys(dependencies) };
    }),
  );
}

/** @param {string} folder @returns {Promise<number>} the sum of the sizes of all files */
async function bytesBelow(folder) {
  const files = await glob('**', { cwd: folder, absolute: true, dot: true });
  return sum(await Promise.all(files.map(async (path) => (await lstat(path)).size)));
}

/** The packages that `roots` need, directly or not. @param {readonly Package[]} packages @param {readonly string[]} roots */
function reached(packages, roots) {
  const names = new Set(roots);
  // The loop also visits the names that it adds to the set.
  for (const name of names)
    for (const needed of packages.find((each) => each.name === name)?.needs ?? []) names.add(needed);
  return names;
}

/** @param {number} rounds */
async function importTimes(rounds) {
  /** @type {Record<'conclave' | 'node-zookeeper-client', number[]>} */
  const importMs = { conclave: [], 'node-zookeeper-client': [] };
  // The round before the first isn't counted, because its imports read the files from the disk.
  for (let round = -1; round < rounds; round++)
    for (const [name, times] of Object.entries(importMs)) {
      const { line } = await timedProcess(IMPORT, [name]);
      if (round >= 0) times.push(JSON.parse(line).importMs);
    }
  return importMs;
}

/**
 * @param {Package[]} packages
 * @param {Record<'conclave' | 'node-zookeeper-client', number[]>} importMs
 * @returns {import('../harness/finding.mjs').Finding}
 */
function report(packages, importMs) {
  const conclave = packages.find(({ name }) => name === 'conclave')?.needs ?? [];
  // The package depends on pino, which isn't counted. So the search starts at its other dependencies.
  const needed = reached(
    packages.filter(({ name }) => name !== 'conclave'),
    ['conclave', ...conclave.filter((name) => name !== 'pino')],
  );
  const counted = packages.filter(({ name }) => needed.has(name));
  const pino = packages.filter(({ name }) => !needed.has(name));
  const megabytes = sum(counted.map(({ bytes }) => bytes)) / MEGABYTE;
  return {
    id: 'package',
    title: 'What an installation weighs, and how long an import takes',
    columns: ['package', 'kB'],
    table: [
      ...counted.map(({ name, bytes }) => [name, rounded(bytes / 1000, 0)]),
      ['all of these', rounded(megabytes * 1000, 0)],
      ['pino, and what only it needs', rounded(sum(pino.map(({ bytes }) => bytes)) / 1000, 0)],
      ['import of conclave, ms', rounded(median(importMs.conclave))],
      ['import of node-zookeeper-client, ms', rounded(median(importMs['node-zookeeper-client']))],
    ],
    notes: [
      'The sizes are those of the files after `npm install` of the packed package, not of the blocks that they take on a disk.',
      `Each import is timed in a process of its own, without the process's start: ${importMs.conclave.length} in turns.`,
    ],
    data: { packages, importMs },
  };
}
