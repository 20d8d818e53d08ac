import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { refuse } from './checks.mjs';

/** @typedef {import('./checks.mjs').Check} Check */
/** @typedef {{ name: string, packages: Record<string, string>, printed: string }} Beside - `printed` by `programs/beside.mjs` */

const run = promisify(execFile);
const PROGRAM = join(import.meta.dirname, 'programs/beside.mjs');
const WORKS = ['node-cron: runs, for a whole second: true', 'nest: ConclaveModule'];

/**
 * What applications have that Conclave meets: a version of each package from before Conclave could use it, or the oldest that was tried,
 * and the newest.
 *
 * @type {readonly Beside[]}
 */
const BESIDE = [
  {
    name: 'node-cron 3, prom-client 12, Nest 8 and packages as old',
    packages: {
      '@nestjs/common': '8.0.0',
      '@opentelemetry/api': '1.0.0',
      '@types/node': '18.0.0',
      kerberos: '1.1.7',
      'node-cron': '3.0.0',
      'prom-client': '12.0.0',
      'reflect-metadata': '^0.1.14',
      rxjs: '^7.8.2',
    },
    printed: lines(
      ...WORKS,
      'prom-client: registry is an object of the class Registry with _metrics, _collectors, _defaultLabels: ' +
        'expected a Registry of prom-client 13 or later, and this one is of an earlier version',
    ),
  },
  {
    name: 'the newest node-cron, prom-client, Nest and so on',
    packages: {
      '@nestjs/common': 'latest',
      '@opentelemetry/api': 'latest',
      '@types/node': 'latest',
      kerberos: 'latest',
      'node-cron': 'latest',
      'prom-client': 'latest',
      'reflect-metadata': 'latest',
      rxjs: 'latest',
    },
    printed: lines(...WORKS, 'prom-client: conclave_leader'),
  },
];

/**
 * Installs the tarball by npm: alone, which must bring none of the packages that users may have beside it, and into applications that have
 * them, where npm must refuse nothing. There a program uses what meets them. These checks alone need npm's registry.
 *
 * @param {string} tarball
 * @param {(name: string) => string} folderFor - makes an empty folder with that name
 * @returns {Check[]}
 */
export function installations(tarball, folderFor) {
  const names = [...new Set(BESIDE.flatMap(({ packages }) => Object.keys(packages)))];
  const alone = {
    name: 'npm installs it alone, and none of the optional packages with it',
    check: async () => {
      const folder = folderFor('alone');
      await install(folder, tarball, {});
      const brought = names.filter((name) => existsSync(join(folder, 'node_modules', name)));
      refuse(brought.map((name) => `installed too: ${name}`));
    },
  };
  const beside = BESIDE.map(({ name, packages, printed }, index) => ({
    name: `npm installs it beside ${name}, and it works or says which version it needs`,
    check: async () => {
      const folder = folderFor(`beside-${index}`);
      await install(folder, tarball, packages);
      for (const [name, version] of Object.entries(packages)) {
        const { version: found } = JSON.parse(
          readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8'),
        );
        if (/^\d/.test(version) && found !== version)
          throw new Error(`${name} is ${found}: expected ${version}`);
      }
      cpSync(PROGRAM, join(folder, 'beside.mjs'));
      const { stdout } = await run(process.execPath, ['beside.mjs'], { cwd: folder, timeout: 30_000 });
      if (stdout !== printed) throw new Error(`expected ${printed}got ${stdout}`);
    },
  }));
  return [alone, ...beside];
}

/** As a user who runs `npm install conclave` in an application. @param {string} folder @param {string} tarball @param {Record<string, string>} packages */
async function install(folder, tarball, packages) {
  const dependencies = { ...packages, conclave: `file:${tarball}` };
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'application', private: true, dependencies }),
  );
  // npm's default, whatever the configuration of this user says. No script has a part in what npm chooses.
  const options = ['--legacy-peer-deps=false', '--force=false', '--ignore-scripts', '--prefer-offline'];
  await run('npm', ['install', ...options, '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder });
}

/** @param {readonly string[]} all */
function lines(...all) {
  return all.map((line) => `${line}\n`).join('');
}
