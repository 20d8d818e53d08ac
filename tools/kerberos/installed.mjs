/**
 * Finds MIT Kerberos, whose KDC the tests of `conclave/kerberos` start, and the npm package `kerberos`, which must be compiled. Looks for the
 * programs in the folder that `KRB5_SBIN` names, or else among Debian's packages. If something is missing, runs `apt-get install`, as root.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installDebianPackages } from '../debian/packages.mjs';
import { fromEnvironment, runs } from '../environment.mjs';

const ROOT = join(import.meta.dirname, '../..');
const DEBIAN_SBIN = '/usr/sbin';
const PROGRAMS = /** @type {const} */ (['krb5kdc', 'kdb5_util', 'kadmin.local']);
const HEADER = '/usr/include/gssapi/gssapi.h';

/**
 * The programs of a KDC, by name.
 *
 * @returns {Record<typeof PROGRAMS[number], string>}
 */
export function findKdc() {
  const folder = fromEnvironment('KRB5_SBIN') ?? DEBIAN_SBIN;
  const isThere = () => PROGRAMS.every((name) => existsSync(join(folder, name)));
  if (folder === DEBIAN_SBIN && !isThere()) {
    const way = `KRB5_SBIN=/path/to/a folder with ${PROGRAMS.join(', ')} of MIT Kerberos`;
    installDebianPackages('MIT Kerberos', ['krb5-kdc', 'krb5-admin-server', 'krb5-user'], [way]);
  }
  if (!isThere()) throw new Error(`no KDC in ${folder}: expected ${PROGRAMS.join(', ')}`);
  return {
    krb5kdc: join(folder, 'krb5kdc'),
    kdb5_util: join(folder, 'kdb5_util'),
    'kadmin.local': join(folder, 'kadmin.local'),
  };
}

/** Compiles the npm package `kerberos`, unless it can be loaded. The set `kerberos` of tools/dependencies has it. */
export function compileKerberos() {
  if (isLoadable()) return;
  const hasCompiler = ['g++', 'make', 'python3'].every((name) => runs(name, '--version'));
  if (process.platform === 'linux' && !(existsSync(HEADER) && hasCompiler)) {
    const packages = ['libkrb5-dev', 'g++', 'make', 'python3'];
    const way = "your system's compiler for C++, and its headers of Kerberos";
    installDebianPackages('headers of Kerberos, to compile the npm package kerberos,', packages, [way]);
  }
  console.error('Compiling the npm package kerberos …');
  execFileSync('npm', ['rebuild', 'kerberos', '--no-audit', '--no-fund'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...nodeHeaders() },
  });
  if (!isLoadable()) throw new Error('the npm package kerberos was compiled, but Node cannot load it');
}

/** In a process of its own, so that this one can load it after it was compiled. */
function isLoadable() {
  const file = JSON.stringify(createRequire(join(ROOT, 'package.json')).resolve('kerberos'));
  return runs(process.execPath, '-e', `require(${file})`);
}

/** Node's headers, if they are installed with it: npm would download them. @returns {Record<string, string>} */
function nodeHeaders() {
  const prefix = join(process.execPath, '../..');
  return existsSync(join(prefix, 'include/node/node.h')) ? { npm_config_nodedir: prefix } : {};
}
