/**
 * Runs tests, on the embedded server, against each mutant of Conclave that `test/mutants/mutants.mjs` describes, and reports
 * which test catches it.
 *
 *     npm run mutants
 *     npm run mutants -- --only ping-lease,no-uuid
 *     npm run mutants -- --only ping-lease --files 'test/unit/*.test.ts,test/integration/election.test.ts'
 *
 * A mutant is caught if the test that it names fails with the mutant and passes without it. With `--files`, a mutant is caught if
 * any test of these files does so. The exit code is 0 only if all mutants are caught.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';
import { MUTANTS } from '../test/mutants/mutants.mjs';

/** @import { TestCase, TestModule, Vitest } from 'vitest/node' */
/** @import { Mutant } from '../test/mutants/mutants.mjs' */

/**
 * @typedef {object} Verdict
 * @property {Mutant} mutant
 * @property {readonly TestCase[]} caughtBy - the tests that fail with the mutant and pass without it
 * @property {string | undefined} problem - why the mutant doesn't count as caught
 */

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({ options: { only: { type: 'string' }, files: { type: 'string' } } });
const mutants = chosen(values.only?.split(','));

const began = performance.now();
const vitest = await runTests(mutants, values.files);
const verdicts = mutants.map((mutant) => judge(vitest, mutant, values.files === undefined));
printTable(verdicts);
const survivors = verdicts.filter(({ problem }) => problem !== undefined);
for (const { mutant, problem } of survivors) console.log(`\n${mutant.name}: ${mutant.what}\n  ${problem}`);
const seconds = ((performance.now() - began) / 1000).toFixed(0);
console.log(`\n${mutants.length - survivors.length} of ${mutants.length} caught, in ${seconds} s`);
await vitest.close();
process.exitCode = survivors.length === 0 ? 0 : 1;

/** @param {readonly string[] | undefined} names @returns {readonly Mutant[]} */
function chosen(names) {
  const known = MUTANTS.map(({ name }) => name);
  const unknown = names?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`unknown mutants: ${unknown.join(', ')}; expected some of ${known.join(', ')}`);
  return MUTANTS.filter(({ name }) => names === undefined || names.includes(name));
}

/**
 * Tests all mutants in one run, each in a project of `test/mutants/vitest.config.ts`.
 *
 * @param {readonly Mutant[]} asked
 * @param {string | undefined} files
 * @returns {Promise<Vitest>}
 */
async function runTests(asked, files) {
  process.env.CONCLAVE_TEST_SERVER = 'embedded';
  process.env.CONCLAVE_MUTANTS = asked.map(({ name }) => name).join(',');
  if (files !== undefined) process.env.CONCLAVE_MUTANTS_FILES = files;
  const names = asked.map(({ test }) => literally(test.replaceAll(' > ', ' ')));
  return await startVitest('test', [], {
    root,
    config: join(root, 'test/mutants/vitest.config.ts'),
    watch: false,
    reporters: [{}], // Failures are expected, and reported below.
    ...(files === undefined && { testNamePattern: `^(?:${names.join('|')})$` }),
  });
}

/** @param {Vitest} run @param {Mutant} mutant @param {boolean} exactly @returns {Verdict} */
function judge(run, mutant, exactly) {
  const modules = run.state.getTestModules();
  const mutated = modules.filter(({ project }) => project.name === mutant.name);
  const errors = mutated.flatMap((module) => module.errors().map(({ message }) => message));
  const sound = new Set(
    modules.filter(({ project }) => project.name === 'none').flatMap((module) => keysOf(module, 'passed')),
  );
  const caughtBy = mutated
    .flatMap((module) => [...module.children.allTests('failed')])
    .filter((test) => sound.has(keyOf(test)) && (!exactly || test.fullName === mutant.test));
  return { mutant, caughtBy, problem: problemOf() };

  function problemOf() {
    if (errors.length > 0) return errors.join('\n  ');
    if (exactly && !sound.has(`test/${mutant.file} ${mutant.test}`))
      return `this test doesn't pass even without the mutant: test/${mutant.file}, ${mutant.test}`;
    return caughtBy.length === 0 ? 'SURVIVED: no test noticed' : undefined;
  }
}

/** @param {TestModule} module @param {'passed' | 'failed'} state */
function keysOf(module, state) {
  return [...module.children.allTests(state)].map(keyOf);
}

/** @param {TestCase} test */
function keyOf(test) {
  return `${test.module.relativeModuleId} ${test.fullName}`;
}

/** @param {readonly Verdict[]} rows */
function printTable(rows) {
  console.log('| mutant | what is different | caught by |\n|---|---|---|');
  for (const { mutant, caughtBy } of rows)
    console.log(`| \`${mutant.name}\` | ${mutant.what} | ${nameOf(caughtBy)} |`);
}

/** @param {readonly TestCase[]} tests */
function nameOf([first, ...others]) {
  if (first === undefined) return '**nothing**';
  const name = `${first.module.relativeModuleId.replace(/^test\//, '')}: ${first.fullName.replaceAll(' > ', ', ')}`;
  return others.length === 0 ? name : `${name}; and ${others.length} more`;
}

/** @param {string} text */
function literally(text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
