/**
 * Runs the unit tests, and the integration tests that the embedded server suffices for (`npm run test:fast`), on several versions
 * of Node.js, one after the other, and prints a table.
 *
 *     node scripts/matrix.mjs [VERSION]...     by default 20.19, 22, 24 and the newest version
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { resultOf, tableOf } from './matrix/report.mjs';
import { installNode, NODE_VERSIONS, versionOf } from './matrix/versions.mjs';

const root = join(import.meta.dirname, '..');
const cache = process.env.CONCLAVE_NODE_CACHE ?? join(tmpdir(), 'conclave-node-versions');
const given = process.argv.slice(2);
const temporary = mkdtempSync(join(tmpdir(), 'conclave-matrix-'));
const results = [];
try {
  for (const asked of given.length > 0 ? given : NODE_VERSIONS) {
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
console.log(`\n${tableOf(results)}`);
if (results.some(({ failed }) => failed > 0)) process.exitCode = 1;

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
