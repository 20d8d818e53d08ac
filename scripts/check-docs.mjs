/**
 * Checks README and docs: links, commands, code, spelling, and the length of sentences. Prints the problems. Needs no network.
 *
 *     node scripts/check-docs.mjs             all checks
 *     node scripts/check-docs.mjs forms       those of them: here the sentences, also in the comments of src
 */
import { problemsOf } from './docs/all.mjs';

const problems = await problemsOf(process.argv.slice(2));
for (const problem of problems) console.log(problem);
console.log(problems.length === 0 ? 'The docs are right.' : `${problems.length} problems`);
if (problems.length > 0) process.exitCode = 1;
