/** Finds the theorem prover Z3, and asks it questions. */
import { spawn } from 'node:child_process';
import { installDebianPackages } from '../debian/packages.mjs';
import { runs } from '../environment.mjs';

const SECONDS = 20; // Of one question. A question that takes longer counts as unanswered.

/** @typedef {'sat' | 'unsat' | 'unknown'} Answer whether the assertions have a model */

/** Installs Z3 if it is missing. */
export function findZ3() {
  if (runs('z3', '--version')) return;
  installDebianPackages('z3', ['z3'], ['https://github.com/Z3Prover/z3, in the PATH']);
}

/**
 * Asks whether the assertions of each text can hold at the same time. One process answers all texts, at low priority (`nice`).
 *
 * @param {readonly string[]} texts in SMT-LIB, without `(check-sat)`
 * @returns {Promise<Answer[]>}
 * @throws if Z3 refuses a text
 */
export async function solve(texts) {
  const input = [
    `(set-option :timeout ${SECONDS * 1000})`,
    ...texts.map((text) => `(push)\n${text}\n(check-sat)\n(pop)`),
  ].join('\n');
  const output = await answerOf(input);
  const answers = output.split('\n').filter((line) => line !== '');
  const wrong = answers.find((line) => !/^(sat|unsat|unknown|timeout)$/.test(line));
  if (wrong !== undefined) throw new Error(`z3: ${wrong}`);
  if (answers.length !== texts.length)
    throw new Error(`z3 answered ${answers.length} of ${texts.length} questions`);
  return answers.map((answer) => /** @type {Answer} */ (answer === 'timeout' ? 'unknown' : answer));
}

/** @param {string} input @returns {Promise<string>} */
function answerOf(input) {
  return new Promise((resolve, reject) => {
    const child = spawn('nice', ['z3', '-in'], { stdio: ['pipe', 'pipe', 'inherit'] });
    let output = '';
    child.on('error', reject);
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      output += chunk;
    });
    child.on('close', () => resolve(output));
    child.stdin.on('error', () => undefined); // Z3 has ended early: its output says why.
    child.stdin.end(input);
  });
}
