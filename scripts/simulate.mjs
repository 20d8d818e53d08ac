/** Compiles and runs the simulation. `npm run simulate -- --help` lists the options. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { compile, ROOT } from '../tools/typescript/compile.mjs';

const program = compile('test/simulation', 'main.js');
const FOLDER = join(ROOT, 'test/simulation');
const commit = spawnSync('git', ['rev-parse', '--short=8', 'HEAD'], { cwd: ROOT, encoding: 'utf8' });
const { status } = spawnSync(process.execPath, [program, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: {
    ...process.env,
    FAILING_SEEDS: join(FOLDER, 'failing-seeds.json'),
    HOURS: join(FOLDER, 'hours.json'),
    COMMIT: commit.stdout?.trim() || 'none',
  },
});
process.exitCode = status ?? 1;
