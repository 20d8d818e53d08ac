/**
 * Prints how many exports, options and commands the package has, and how much there is to read. Fails if `scripts/package/counts.md` has
 * other names, or if there is too much of something. It needs `dist/`.
 *
 *     node scripts/counts.mjs [--write]     with --write, it writes that page
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PAGE, pageOf, problemsWith, surfaceOf, tableOf } from './package/counts.mjs';
import { problemsWithSizes, sizes, sizesTableOf } from './package/sizes.mjs';

const root = join(import.meta.dirname, '..');
const surface = surfaceOf(root);
if (process.argv.includes('--write')) writeFileSync(join(root, PAGE), pageOf(surface));
const all = sizes();
console.log(`${tableOf(surface)}\n\n${sizesTableOf(all)}`);
const problems = [
  ...problemsWith(surface, readFileSync(join(root, PAGE), 'utf8')),
  ...problemsWithSizes(all),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
