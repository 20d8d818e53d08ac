import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/**
 * Compiles one of the tests' TypeScript programs and everything that it imports, so that Node runs it without the test runner. It doesn't
 * check the types, as `npm run types` does.
 *
 * @param {string} folder - the folder of its tsconfig.json
 * @param {string} program - the name of the compiled program: `main.js`
 * @returns {string} the path of the compiled program
 */
export function compile(folder, program) {
  // Below node_modules, because the compiled program finds the dependencies there, and because git ignores that folder.
  const output = join(ROOT, 'node_modules/.cache', folder.replaceAll('/', '-'));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const options = ['-p', join(ROOT, folder, 'tsconfig.json'), '--outDir', output, '--noCheck'];
  execFileSync(process.execPath, [tsc, ...options], { cwd: ROOT, stdio: 'inherit' });
  writeFileSync(join(output, 'package.json'), '{ "type": "module" }\n');
  return join(output, folder, program);
}
