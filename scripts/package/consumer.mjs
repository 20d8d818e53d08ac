import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Packs Conclave as npm would publish it, and installs it into a folder as npm would, but without a network: links lead from
 * there to this project's dependencies.
 *
 * @param {string} source - the package's folder
 * @param {string} folder - the user's folder. It is outside of any project, because it would find that project's modules
 * @returns {string} the path of the tarball
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
  return join(folder, filename);
}

/**
 * Links one more of this project's dependencies into the folder.
 *
 * @param {string} folder @param {string} name
 * @param {string} [target] where it is, if this project has several versions of it
 */
export function link(folder, name, target = join(ROOT, 'node_modules', name)) {
  const path = join(folder, 'node_modules', name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, 'junction');
}

/** Copies a user's folder with its links. @param {string} from @param {string} folder */
export function copyConsumer(from, folder) {
  cpSync(from, folder, { recursive: true, verbatimSymlinks: true });
}
