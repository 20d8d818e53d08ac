/** @import { Mutant } from './mutants.mjs' */

/**
 * A file of `src` as a mutant has it; what it doesn't touch stays as it is.
 *
 * @param {Mutant} mutant
 * @param {string} file - below `src`
 * @param {string} source
 * @throws {Error} if what an edit is for doesn't stand there exactly once: it has to be made anew
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
