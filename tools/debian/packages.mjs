/** Installs what the tests and the demo run beside them from Debian's packages. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * As root, on a system that has apt-get; elsewhere it says what to do.
 *
 * @param {string} name what it is, for people
 * @param {readonly string[]} packages the first is the one that people would ask for
 * @param {readonly string[]} otherWays other ways to provide it, a line each
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
