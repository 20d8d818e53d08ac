import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Packs Conclave as it would be published, and puts it into a folder as npm would install it there, but without a
 * network: what it depends on is linked to this project's own.
 *
 * @param {string} source - the folder of the package
 * @param {string} folder - the consumer's, outside of any project, which would lend it its modules
 */
export function installFromTarball(source, folder) {
  const options = ['pack', '--ignore-scripts', '--json', '--loglevel=error', '--pack-destination', folder];
  const [{ filename }] = JSON.parse(execFileSync('npm', options, { cwd: source, encoding: 'utf8' }));
  const installed = join(folder, 'node_modules/conclave');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);
  writeFileSync(join(folder, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n');
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies)) link(folder, name);
}

/** Puts another package beside it. @param {string} folder @param {string} name */
export function link(folder, name) {
  const path = join(folder, 'node_modules', name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), path, 'junction');
}

/** @param {string} from - a folder's copy has its links @param {string} folder */
export function copyConsumer(from, folder) {
  cpSync(from, folder, { recursive: true, verbatimSymlinks: true });
}
