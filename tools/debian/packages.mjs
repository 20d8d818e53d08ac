/** Installs from Debian's packages the programs that the tests, the benchmark and the demo start. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Installs Debian packages, as root on a system with apt-get. Otherwise it throws an error that says how to provide the program.
 *
 * @param {string} name the program's name, for messages
 * @param {readonly string[]} packages messages name the first one
 * @param {readonly string[]} otherWays other ways to provide the program, each in one line
 */
export function installDebianPackages(name, packages, otherWays) {
  const [main] = packages;
  const advice = [
    `No ${name} found. One of these provides it:`,
    `  - as root on Debian or Ubuntu: apt-get update && apt-get install -y ${packages.join(' ')}`,
    ...otherWays.map((way) => `  - ${way}`),
  ].join('\n');
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new Error(advice);
  console.error(`${name} is not installed: installing the Debian package (apt-get install ${main}) …`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  /** @param {string[]} args */
  const apt = (...args) =>
    execFileSync('apt-get', ['-qq', '-o', 'Acquire::Retries=3', ...args], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  try {
    apt('update');
    apt('install', '-y', '--no-install-recommends', ...packages);
  } catch (cause) {
    throw new Error(`apt-get could not install ${name}.\n${advice}`, { cause });
  }
}
