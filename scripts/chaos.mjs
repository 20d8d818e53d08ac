/** Compiles the chaos on real servers and what it tests, and runs it: `npm run chaos -- --help` says with which options. */
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
// Below node_modules, so that what is compiled finds the dependencies, and nobody has to ignore it.
const output = join(root, 'node_modules/.cache/chaos');

execFileSync(
  process.execPath,
  [
    join(root, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(root, 'test/chaos/nemesis/tsconfig.json'),
    '--outDir',
    output,
  ],
  { cwd: root, stdio: 'inherit' },
);
writeFileSync(join(output, 'package.json'), '{ "type": "module" }\n');
const run = spawn(process.execPath, [join(output, 'test/chaos/nemesis/main.js'), ...process.argv.slice(2)], {
  stdio: 'inherit',
});
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => run.kill(signal));
run.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
