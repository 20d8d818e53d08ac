/** Compiles and runs the chaos test on real servers. `npm run chaos -- --help` lists the options. */
import { spawn } from 'node:child_process';
import { compile } from '../tools/typescript/compile.mjs';

const program = compile('test/chaos/nemesis', 'main.js');
const run = spawn(process.execPath, [program, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { CONCLAVE_LOG_LEVEL: 'silent', ...process.env }, // Faults are expected here.
});
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => run.kill(signal));
run.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
