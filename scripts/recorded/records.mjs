/**
 * What has succeeded, and with which inputs. A change of an input makes it due again: its digest is another one. The commit and the day are
 * for readers.
 *
 * @typedef {{ inputs: string, commit: string, day: string }} Success
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Below the project's folder. */
export const FILE = 'test/successes.json';

/** @param {string} root @returns {Record<string, Success>} by name */
function read(root) {
  const path = join(root, FILE);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

/**
 * The success of something with just these inputs, if it is recorded.
 *
 * @param {string} root @param {string} name @param {string} inputs - their digest
 */
export function successOf(root, name, inputs) {
  const success = read(root)[name];
  return success?.inputs === inputs ? success : undefined;
}

/** Call it when it has succeeded. @param {string} root @param {string} name @param {string} inputs - their digest from before it ran */
export function record(root, name, inputs) {
  const day = new Date().toISOString().slice(0, 10);
  const all = { ...read(root), [name]: { inputs, commit: commitOf(root), day } };
  const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
  // Other groups may read it at the same time.
  const path = join(root, FILE);
  writeFileSync(`${path}.${process.pid}`, `${JSON.stringify(sorted, null, 2)}\n`);
  renameSync(`${path}.${process.pid}`, path);
}

/** @param {string} root */
function commitOf(root) {
  /** @param {readonly string[]} words */
  const git = (...words) =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const isChanged = git('status', '--porcelain', '--', '.', `:!${FILE}`) !== '';
    return `${git('rev-parse', '--short=8', 'HEAD').trim()}${isChanged ? ' and changes' : ''}`;
  } catch {
    return 'no commit';
  }
}
