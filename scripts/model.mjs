/**
 * Searches the states of the recipe's model, `test/model/recipe.pml`, and of its variants, and prints the results.
 *
 * `npm run model` runs all searches. `npm run model -- NO_UUID …` runs those of the named variants, and prints the steps by
 * which each of them fails. The exit code is 0 only if the recipe holds, with every state visited and every statement
 * reached, and every variant fails as expected.
 */
import { availableParallelism } from 'node:os';
import { ALL, isAsExpected, MODEL } from '../test/model/searches.mjs';
import { findSpin, search } from '../tools/spin/search.mjs';

/** @import { Question } from '../test/model/searches.mjs' */
/** @import { Finding } from '../tools/spin/search.mjs' */

const names = process.argv.slice(2);
const known = [...new Set(ALL.map(({ name }) => name))];
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}; there are ${known.join(', ')}`);

findSpin();
const began = performance.now();
const asked = names.length === 0 ? ALL : ALL.filter(({ name }) => names.includes(name));
const answers = await askAll(asked, names.length > 0);
printTable(answers);
for (const answer of answers) printDetails(...answer);

const wrong = answers
  .filter((answer) => !isAsExpected(...answer))
  .map(([{ name, property }]) => `${name}, ${property}`);
const seconds = ((performance.now() - began) / 1000).toFixed(0);
if (wrong.length === 0) console.log(`\nAll ${answers.length} came out as they must, in ${seconds} s.`);
else console.log(`\nNOT as it must be: ${wrong.join('; ')}.`);
process.exitCode = wrong.length === 0 ? 0 : 1;

/**
 * Runs as many searches at a time as there are processors, but at most two, because of the memory they need.
 *
 * @param {readonly Question[]} questions
 * @param {boolean} story
 * @returns {Promise<[Question, Finding][]>}
 */
async function askAll(questions, story) {
  const waiting = [...questions.entries()];
  /** @type {[Question, Finding][]} */
  const answers = [];
  const ask = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [at, question] = next;
      answers[at] = [question, await search(MODEL, { ...question.search, story })];
    }
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, ask));
  return answers;
}

/** @param {[Question, Finding][]} answers */
function printTable(answers) {
  const head = [
    'variant',
    'faults, losses, stops, calls, again',
    'property',
    'states',
    'depth',
    'seconds',
    'result',
  ];
  const rows = answers.map(([question, finding]) => [
    question.name,
    boundsOf(question),
    question.property,
    finding.states.toLocaleString('en'),
    String(finding.depth),
    finding.seconds.toFixed(1),
    resultOf(question, finding),
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => cell(row, column).length)));
  const isNumber = [false, false, false, true, true, true, false];
  for (const row of [head, ...rows]) {
    const cells = row.map((text, column) =>
      isNumber[column] ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0),
    );
    console.log(cells.join('  ').trimEnd());
  }
}

/** @param {Question} question */
function boundsOf({ search: { defines } }) {
  return defines.flatMap((define) => /^[A-Z]+=(\d)$/.exec(define)?.[1] ?? []).join(' ');
}

/** @param {string[]} row @param {number} column */
function cell(row, column) {
  return row[column] ?? '';
}

/** @param {Question} question @param {Finding} finding */
function resultOf(question, finding) {
  const { error, complete } = finding;
  const result =
    error !== undefined ? `fails: ${error}` : complete ? 'holds' : 'TRUNCATED: nothing found so far';
  return isAsExpected(question, finding) ? result : `${result}  <-- expected: ${question.breaks ?? 'holds'}`;
}

/** @param {Question} question @param {Finding} finding */
function printDetails({ name, what, reachesAll }, { story, unreached }) {
  if (reachesAll && unreached.length > 0) console.log(`\n${name}: never reached\n${indented(unreached)}`);
  if (story.length > 0) console.log(`\n${name}: ${what}\n${indented(story)}`);
}

/** @param {string[]} lines */
function indented(lines) {
  return lines.map((line) => `  ${line}`).join('\n');
}
