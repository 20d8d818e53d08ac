/**
 * Searches the states of the models in `test/model`, and of their variants, and prints the results.
 *
 * Then asks Z3 whether the invariant of an election holds, for any number of candidates and terms.
 *
 * `npm run model` runs all searches. `npm run model -- NO_UUID …` runs only the searches of the named variants or models, and
 * prints the steps by which each of them fails. The exit code is 0 only if the models hold, with every state visited and every
 * statement reached, and if every variant has the expected result.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { INDUCTION } from '../test/model/induction/questions.mjs';
import { isAsExpected } from '../test/model/questions.mjs';
import { MODELS } from '../test/model/searches.mjs';
import { findSpin, search } from '../tools/spin/search.mjs';
import { findZ3, solve } from '../tools/z3/solve.mjs';

/** @import { Model, Question } from '../test/model/questions.mjs' */
/** @import { Finding } from '../tools/spin/search.mjs' */

const PROOF = 'induction';
const known = [PROOF, ...new Set(MODELS.flatMap(({ all }) => all.map(({ name }) => name)))];
const HELP = `Searches the states of the models, and of variants that must fail. Asks Z3 about the invariant of an election.

  npm run model                  all searches, and the questions for Z3
  npm run model -- ${PROOF}     the questions for Z3
  npm run model -- NAME …        only these, with the steps by which each of them fails

Models and variants: ${known.join(', ')}`;

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean' } },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0)
  throw new Error(`unknown variants: ${unknown.join(', ')}; expected some of ${known.join(', ')}`);

const began = performance.now();
const asksZ3 = names.length === 0 || names.includes(PROOF);
const unproved = asksZ3 ? await prove() : [];
const asked = MODELS.flatMap((model) =>
  model.all
    .filter(({ name }) => names.length === 0 || names.includes(name))
    .map((question) => ({ model, question })),
);
if (asked.length > 0) findSpin();
const results = await askAll(asked, names.length > 0);
for (const model of MODELS) {
  const ofModel = results.filter((result) => result.model === model);
  if (ofModel.length > 0) printTable(model, ofModel);
}
const answers = results.map(({ question, finding }) => /** @type {const} */ ([question, finding]));
for (const answer of answers) printDetails(...answer);

const unexpected = answers
  .filter((answer) => !isAsExpected(...answer))
  .map(([{ name, property }]) => `${name}, ${property}`);
const wrong = [...unproved, ...unexpected];
const seconds = ((performance.now() - began) / 1000).toFixed(0);
if (wrong.length === 0)
  console.log(`\nEverything had the expected result (${answers.length} searches), in ${seconds} s.`);
else console.log(`\nNOT the expected result: ${wrong.join('; ')}.`);
process.exitCode = wrong.length === 0 ? 0 : 1;

/** Asks Z3 all questions, and prints the answers. @returns the questions that it answered otherwise than expected */
async function prove() {
  findZ3();
  const started = performance.now();
  const others = [];
  for (const { about, questions } of INDUCTION) {
    const found = await solve(questions.map(({ text }) => text));
    console.log(`\nthe invariant: ${about}\n`);
    for (const [at, { name, expected }] of questions.entries()) {
      const isExpected = found[at] === expected;
      console.log(`${found[at]}  ${name}${isExpected ? '' : `  <-- expected: ${expected}`}`);
      if (!isExpected) others.push(`${about}: ${name}`);
    }
  }
  console.log(`\nZ3 answered in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
  return others;
}

/** @typedef {{ model: Model, question: Question }} Asked */

/** @typedef {Asked & { finding: Finding }} Result */

/**
 * Runs as many searches at a time as there are processors, but at most two, because of the memory that they need.
 *
 * @param {readonly Asked[]} questions
 * @param {boolean} story
 */
async function askAll(questions, story) {
  const waiting = [...questions.entries()];
  /** @type {Result[]} */
  const found = [];
  const ask = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [at, { model, question }] = next;
      found[at] = { model, question, finding: await search(model.path, { ...question.search, story }) };
    }
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, ask));
  return found;
}

/** @param {Model} model @param {Result[]} results */
function printTable({ about, bounds }, results) {
  console.log(`\n${about}\n`);
  const head = ['variant', bounds.join(', '), 'property', 'states', 'depth', 'seconds', 'result'];
  const rows = results.map(({ question, finding }) => [
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
