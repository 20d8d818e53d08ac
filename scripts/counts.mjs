/**
 * Prints how many exports, options and commands the package has, and fails if `scripts/package/counts.md` has other names or if there are
 * too many. It needs `dist/`.
 *
 *     node scripts/counts.mjs [--write]     with --write, it writes that page
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PAGE, pageOf, problemsWith, surfaceOf, tableOf } from './package/counts.mjs';

const root = join(import.meta.dirname, '..');
const surface = surfaceOf(root);
if (process.argv.includes('--write')) writeFileSync(join(root, PAGE), pageOf(surface));
console.log(tableOf(surface));
const problems = problemsWith(surface, readFileSync(join(root, PAGE), 'utf8'));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
