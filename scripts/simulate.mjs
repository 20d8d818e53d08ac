/** Compiles the simulation and what it simulates, and runs it: `npm run simulate -- --help` says with which options. */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
// Below node_modules, so that what is compiled finds the dependencies, and nobody has to ignore it.
const output = join(root, 'node_modules/.cache/simulation');

execFileSync(
  process.execPath,
  [
    join(root, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(root, 'test/simulation/tsconfig.json'),
    '--outDir',
    output,
  ],
  { cwd: root, stdio: 'inherit' },
);
writeFileSync(join(output, 'package.json'), '{ "type": "module" }\n');
const { status } = spawnSync(
  process.execPath,
  [join(output, 'test/simulation/main.js'), ...process.argv.slice(2)],
  {
    stdio: 'inherit',
    env: { ...process.env, FAILING_SEEDS: join(root, 'test/simulation/failing-seeds.json') },
  },
);
process.exitCode = status ?? 1;
