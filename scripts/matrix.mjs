/**
 * Runs the unit tests, and the integration tests that the embedded server suffices for (`npm run test:fast`), on several versions
 * of Node.js, one after the other, and prints a table. Runs some programs with the built package on Bun and Deno, which can't run
 * the tests, and prints another.
 *
 *     node scripts/matrix.mjs [VERSION | bun | deno]...     by default 20.19, 22, 24 and the newest version, bun and deno
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { EmbeddedZooKeeper } from 'conclave/testing';
import { checksTableOf, resultOf, tableOf } from './matrix/report.mjs';
import { Host, RUNTIME_CHECKS, SESSION_TIMEOUT_MS } from './matrix/runtime-checks.mjs';
import { installNode, installRuntime, NODE_VERSIONS, OTHER_RUNTIMES, versionOf } from './matrix/versions.mjs';

const root = join(import.meta.dirname, '..');
const cache = process.env.CONCLAVE_NODE_CACHE ?? join(tmpdir(), 'conclave-node-versions');
const given = process.argv.slice(2);
const all = given.length > 0 ? given : [...NODE_VERSIONS, ...Object.keys(OTHER_RUNTIMES)];
const [versions, runtimes] = [
  all.filter((each) => !(each in OTHER_RUNTIMES)),
  all.filter((each) => each in OTHER_RUNTIMES),
];
const temporary = mkdtempSync(join(tmpdir(), 'conclave-matrix-'));
const results = [];
try {
  for (const asked of versions) {
    const binary = await installNode(asked, cache);
    const version = await versionOf(binary);
    console.log(`\n== Node.js ${version}`);
    const file = join(temporary, `${version}.json`);
    const startedAt = performance.now();
    await runTests(binary, file);
    results.push(resultOf(version, JSON.parse(readFileSync(file, 'utf8')), performance.now() - startedAt));
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
const checked = [];
for (const name of runtimes) checked.push(await checkRuntime(name));
if (results.length > 0) console.log(`\n${tableOf(results)}`);
if (checked.length > 0) console.log(`\n${checksTableOf(checked)}`);
const hasFailed =
  results.some(({ failed }) => failed > 0) || checked.some(({ failures }) => failures.size > 0);
if (hasFailed) process.exitCode = 1;

/**
 * @param {string} binary
 * @param {string} file - for vitest's report
 * @returns {Promise<void>} resolves also if tests fail; the report has the failures
 */
async function runTests(binary, file) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  await new Promise((resolve, reject) => {
    // With this path, the programs that tests start by the name `node` run on the same version.
    const path = `${dirname(binary)}${delimiter}${process.env.PATH}`;
    const child = spawn(binary, [vitest, 'run', '--project', 'behaviour', ...reporters], {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, PATH: path, CONCLAVE_TEST_SERVER: 'embedded' },
    });
    child.once('error', reject);
    child.once('close', resolve);
  });
}

/** @param {string} name @returns {Promise<import('./matrix/report.mjs').CheckedRuntime>} */
async function checkRuntime(name) {
  const { title = name, options = [] } = OTHER_RUNTIMES[name] ?? {};
  const binary = await installRuntime(name, cache);
  const version = `${title} ${await versionOf(binary)}`;
  console.log(`\n== ${version}`);
  const server = await EmbeddedZooKeeper.start({ maxSessionTimeoutMs: SESSION_TIMEOUT_MS });
  const failures = new Map();
  for (const { name: check, check: run } of RUNTIME_CHECKS) {
    const host = new Host([binary, ...options], server.connectString);
    await run(host)
      .catch((error) => failures.set(check, error.message))
      .finally(() => host.close());
    console.log(failures.has(check) ? `✗ ${check}: ${failures.get(check)}` : `✓ ${check}`);
  }
  await server.stop();
  return { version, checks: RUNTIME_CHECKS.map((each) => each.name), failures };
}
