/** Compiles and runs the simulation. `npm run simulate -- --help` lists the options. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { compile, ROOT } from '../tools/typescript/compile.mjs';

const program = compile('test/simulation', 'main.js');
const { status } = spawnSync(process.execPath, [program, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, FAILING_SEEDS: join(ROOT, 'test/simulation/failing-seeds.json') },
});
process.exitCode = status ?? 1;
