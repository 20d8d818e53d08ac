/**
 * Prepares for the commands of package.json: installs the locked dependencies and builds `dist/`. It does each of these only if the
 * result is missing or older than its sources. `--dependencies-only` leaves out the build.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.mjs';

const root = join(import.meta.dirname, '..');
const OLDEST_NODE = { major: 20, minor: 19 };

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE.major || (major === OLDEST_NODE.major && minor < OLDEST_NODE.minor)) {
  console.error(
    `Node ${process.versions.node} is too old: expected ${OLDEST_NODE.major}.${OLDEST_NODE.minor} or later.`,
  );
  process.exit(1);
}

/** @param {string} path */
const modifiedAt = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);

/** @param {string} folder */
const newestIn = (folder) =>
  Math.max(
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(({ name }) => !name.endsWith('.test.ts'))
      .map(({ parentPath, name }) => modifiedAt(join(parentPath, name))),
  );

// npm writes this file at the end of an installation.
if (modifiedAt(join(root, 'node_modules/.package-lock.json')) < modifiedAt(join(root, 'package-lock.json'))) {
  console.error('Installing the dependencies (npm ci) …');
  const options = ['ci', '--include=dev', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', options, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) process.exit(status ?? 1); // npm has printed the reason.
}

if (!process.argv.includes('--dependencies-only')) {
  const others = ['package.json', 'package-lock.json', 'tsconfig.build.json', 'scripts/build.mjs'];
  const sources = Math.max(
    newestIn(join(root, 'src')),
    newestIn(join(root, 'scripts/build')),
    ...others.map((path) => modifiedAt(join(root, path))),
  );
  if (modifiedAt(join(root, 'dist/index.js')) < sources) {
    console.error('Building dist/ …');
    // Without a check of types, because the user waits for the build. `npm run types` checks the types.
    await build({ checked: false });
  }
}
