/** Compiles the chaos on real servers and what it tests, and runs it: `npm run chaos -- --help` says with which options. */
import { spawn } from 'node:child_process';
import { compile } from '../tools/typescript/compile.mjs';

const program = compile('test/chaos/nemesis', 'main.js');
const run = spawn(process.execPath, [program, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { CONCLAVE_LOG_LEVEL: 'silent', ...process.env }, // Its faults are what it is about.
});
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => run.kill(signal));
run.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
