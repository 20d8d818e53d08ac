/**
 * That Z3 has answered the questions as expected. Its answers depend only on the texts. So `npm test` asks again only if a text has changed
 * since, and Z3 is installed only then.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { INDUCTION } from './questions.mjs';

const FILE = join(import.meta.dirname, 'answered.json');
const QUESTIONS = INDUCTION.flatMap(({ questions }) => questions);

/** @returns {{ questions: number, digest: string }} */
export function asAnswered() {
  const asked = QUESTIONS.map(({ text, expected }) => `${text}\0${expected}`).join('\0');
  return {
    questions: QUESTIONS.length,
    digest: createHash('sha256').update(asked).digest('hex').slice(0, 24),
  };
}

/** @returns {unknown} as {@link asAnswered}, of the texts that were answered */
export function recordedAnswers() {
  return JSON.parse(readFileSync(FILE, 'utf8'));
}

/** Call it when all answers were as expected. */
export function recordAnswers() {
  writeFileSync(FILE, `${JSON.stringify(asAnswered(), null, 2)}\n`);
}
