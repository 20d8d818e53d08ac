import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/**
 * Compiles a TypeScript program of the tests' with all that it imports, to run it without the test runner.
 *
 * @param {string} folder - where its tsconfig.json is
 * @param {string} program - its file, as it is compiled: `main.js`
 * @returns {string} the compiled program
 */
export function compile(folder, program) {
  // Below node_modules, so that what is compiled finds the dependencies, and nobody has to ignore it.
  const output = join(ROOT, 'node_modules/.cache', folder.replaceAll('/', '-'));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', join(ROOT, folder, 'tsconfig.json'), '--outDir', output], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  writeFileSync(join(output, 'package.json'), '{ "type": "module" }\n');
  return join(output, folder, program);
}
