/** Checks README and docs: links, commands, code, spelling, and the length of sentences. Prints the problems. Needs no network. */
import { checkAll } from './docs/all.mjs';

const problems = await checkAll();
for (const problem of problems) console.log(problem);
console.log(problems.length === 0 ? 'The docs are right.' : `${problems.length} problems`);
if (problems.length > 0) process.exitCode = 1;
