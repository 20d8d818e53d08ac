import { execFileSync } from 'node:child_process';

/** @import { Mutant } from './mutants.mjs' */

const SHARES = 10;
const COMMITS = 10;

/**
 * The mutants that `npm test` runs: those of files that the newest commits or the work tree have changed, and a tenth of the others, another
 * one after each commit. All are applied in any case, by `apply.test.ts`.
 *
 * @param {readonly Mutant[]} mutants
 * @param {readonly string[]} changed - paths from the project's folder
 * @param {number} share - which tenth, from 0 on
 */
export function dueMutants(mutants, changed, share) {
  const files = new Set(changed);
  return mutants.filter(
    ({ file, edits }, at) =>
      at % SHARES === share % SHARES ||
      files.has(`test/${file}`) ||
      edits.some((edit) => files.has(`src/${edit.file}`)),
  );
}

/** What {@link dueMutants} needs to know of the repository; nothing has changed where there is none. @param {string} root */
export function recentChanges(root) {
  /** @param {readonly string[]} words */
  const git = (...words) => {
    try {
      return execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    } catch {
      return '';
    }
  };
  const committed = git('log', `-${COMMITS}`, '--name-only', '--format=').split('\n');
  const uncommitted = git('status', '--porcelain', '--no-renames')
    .split('\n')
    .map((line) => line.slice(3));
  const changed = [...committed, ...uncommitted].filter((path) => path !== '');
  return { changed, share: Number(git('rev-list', '--count', 'HEAD')) };
}
