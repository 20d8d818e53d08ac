/** @import { Mutant } from './mutants.mjs' */

/**
 * Returns the mutant's version of a file of `src`.
 *
 * @param {Mutant} mutant
 * @param {string} file - the file's path below `src`
 * @param {string} source
 * @throws {Error} if the file doesn't have an edit's `from` text exactly once. You then have to write that edit anew
 */
export function mutate(mutant, file, source) {
  let mutated = source;
  for (const { from, to } of mutant.edits.filter((edit) => edit.file === file)) {
    const times = mutated.split(from).length - 1;
    if (times !== 1) {
      throw new Error(`mutant ${mutant.name}: src/${file} has ${times} times what it changes:\n${from}`);
    }
    mutated = mutated.replace(from, () => to);
  }
  return mutated;
}
