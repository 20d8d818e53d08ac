/**
 * Prepares for a command of package.json: installs locked dependencies and builds `dist/`. It does each of these only if the result is
 * missing or outdated.
 *
 *     node scripts/prepare.mjs [SET]... [--javascript | --build]
 *
 * The dependencies are those of the project itself, which the build of its JavaScript and the demo need, and those of the given sets: the
 * folders of `tools/dependencies`. `all` means all sets. `--build` builds `dist/`, `--javascript` leaves its declarations out.
 *
 * With the set `kerberos` come a KDC and the compiled package. If that fails, so does the preparation. With `all` only the tests fail that
 * use these: most of the commands that need all sets run without.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compileKerberos, findKdc } from '../tools/kerberos/installed.mjs';
import { build } from './build.mjs';
import { isAsLocked, isInstalled, SETS } from './prepare/installed.mjs';

const root = join(import.meta.dirname, '..');
const OLDEST_NODE = { major: 20, minor: 19 };

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE.major || (major === OLDEST_NODE.major && minor < OLDEST_NODE.minor)) {
  console.error(
    `Node ${process.versions.node} is too old: expected ${OLDEST_NODE.major}.${OLDEST_NODE.minor} or later.`,
  );
  process.exit(1);
}

const given = process.argv.slice(2);
const known = readdirSync(join(root, SETS));
const isAll = given.includes('all');
const sets = isAll ? known : given.filter((each) => !each.startsWith('--'));
for (const set of sets) {
  if (!known.includes(set))
    throw new Error(`unknown set ${set}: expected all or some of ${known.join(', ')}`);
}
installDependencies();
if (sets.includes('kerberos')) prepareKerberos();
if (given.includes('--build') || given.includes('--javascript')) {
  const declarations = given.includes('--build');
  if (isOutdated(declarations ? ['dist/index.js', 'dist/index.d.ts'] : ['dist/index.js'])) {
    console.error('Building dist/ …');
    // Without a check of types, because the user waits for the build. `npm run types` checks the types.
    await build({ declarations, checked: false });
  }
}

function installDependencies() {
  const locked = packagesOf('package-lock.json');
  if (!isAsLocked(locked, installed()) || !isInstalled(locked, installed(), ''))
    npm('ci', ...(isAll ? [] : withSets(sets)));
  const missing = sets.filter((set) => !isInstalled(locked, installed(), `${SETS}/${set}`));
  if (missing.length > 0) npm('install', '--no-save', ...withSets(missing));
}

/** npm's options for the project's own dependencies and those of the given sets. @param {readonly string[]} given */
function withSets(given) {
  if (given.length === 0) return ['--workspaces=false'];
  return ['--include-workspace-root', ...given.flatMap((set) => ['--workspace', `${SETS}/${set}`])];
}

function prepareKerberos() {
  try {
    findKdc();
    compileKerberos();
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    if (!isAll) process.exit(1);
  }
}

function installed() {
  return packagesOf('node_modules/.package-lock.json');
}

/** @param {string} file @returns {import('./prepare/installed.mjs').Packages} */
function packagesOf(file) {
  const path = join(root, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {};
}

/** @param {string[]} options */
function npm(...options) {
  console.error(`Installing dependencies: npm ${options.join(' ')} …`);
  // Without the packages' scripts: none is needed, except for the one that compiles `kerberos`, which comes later.
  const all = [...options, '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
  // npm asks the registry about each package, although the lockfile has its version and hash. What npm has in its cache is enough, unless
  // that is older than the lockfile.
  const cached = spawnSync('npm', [...all, '--prefer-offline'], { cwd: root, stdio: 'ignore' });
  if (cached.status === 0) return;
  const { status } = spawnSync('npm', all, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) process.exit(status ?? 1); // npm has printed the reason.
}

/** Whether a source is newer than one of the built files. @param {readonly string[]} built */
function isOutdated(built) {
  const others = ['package.json', 'package-lock.json', 'tsconfig.build.json', 'scripts/build.mjs'];
  const sources = Math.max(
    newestIn(join(root, 'src')),
    newestIn(join(root, 'scripts/build')),
    ...others.map((path) => modifiedAt(join(root, path))),
  );
  return built.some((path) => modifiedAt(join(root, path)) < sources);
}

/** @param {string} path */
function modifiedAt(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}

/** @param {string} folder */
function newestIn(folder) {
  return Math.max(
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(({ name }) => !name.endsWith('.test.ts'))
      .map(({ parentPath, name }) => modifiedAt(join(parentPath, name))),
  );
}
