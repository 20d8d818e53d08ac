/**
 * The findings of the quick searches, which take minutes. The result of a search depends only on the model's statements, the macros, the kind of
 * search and Spin's version. So `npm test` runs a search again only if one of these has changed since its finding was recorded.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @import { Finding } from '../../tools/spin/search.mjs' */
/** @import { Model, Question } from './questions.mjs' */

/**
 * The name and the property are for readers.
 *
 * @typedef {Pick<Finding, 'complete' | 'states' | 'unreached'> & { name: string, property: string, error?: string | undefined }}
 *   RecordedFinding
 */

const FILE = join(import.meta.dirname, 'findings.json');

/** @returns {Record<string, RecordedFinding>} by {@link digestOf} */
export function recordedFindings() {
  return existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {};
}

/** @param {readonly { model: Model, question: Question, finding: Finding }[]} results */
export function record(results) {
  const spin = spinVersion();
  const findings = results.map(({ model, question, finding }) => {
    const { error, complete, states, unreached } = finding;
    const { name, property } = question;
    return [digestOf(model, question, spin), { name, property, error, complete, states, unreached }];
  });
  // In the order of the questions, so that a change of one model changes one part of the file.
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(findings), null, 2)}\n`);
}

/** @param {Model} model @param {Question} question @param {string} spin */
export function digestOf({ path }, { search }, spin) {
  const { defines, kind, only, effort } = search;
  const parts = [
    withoutComments(readFileSync(path, 'utf8')),
    JSON.stringify([defines, kind, only, effort]),
    spin,
  ];
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 24);
}

/** A search doesn't depend on comments and line breaks. @param {string} model */
function withoutComments(model) {
  return model.replaceAll(/\/\*.*?\*\//gs, ' ').replaceAll(/\s+/g, ' ');
}

/** @returns {string} `''` without Spin */
export function spinVersion() {
  try {
    return execFileSync('spin', ['-V'], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}
