import { join, relative, resolve } from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import { mutate } from './apply.mjs';
import { MUTANTS, type Mutant } from './mutants.mjs';

const sources = resolve(import.meta.dirname, '../../src');

/** Gives the tests the mutant's version of the files that it changes. The files on disk stay as they are. */
function mutation(mutant: Mutant): Plugin {
  return {
    name: `mutant ${mutant.name}`,
    enforce: 'pre',
    transform(code, id) {
      const file = relative(sources, id);
      return mutant.edits.some((edit) => edit.file === file) ? mutate(mutant, file, code) : null;
    },
  };
}

const asked = process.env.CONCLAVE_MUTANTS?.split(',');
const mutants = MUTANTS.filter(({ name }) => asked === undefined || asked.includes(name));
const files = process.env.CONCLAVE_MUTANTS_FILES?.split(',');

function project(name: string, include: string[], plugins: Plugin[]) {
  return {
    plugins,
    test: {
      name,
      include,
      pool: 'threads' as const,
      testTimeout: 20_000,
      hookTimeout: 20_000,
      maxWorkers: 2,
    },
  };
}

/** A project for each mutant, with the tests that catch it, and a project without a mutant, with all these tests. */
export default defineConfig({
  test: {
    root: join(sources, '..'),
    globalSetup: ['test/support/vitest/global-setup.ts'],
    silent: true,
    projects: [
      project('none', files ?? [...new Set(mutants.map(({ file }) => `test/${file}`))], []),
      ...mutants.map((mutant) => project(mutant.name, files ?? [`test/${mutant.file}`], [mutation(mutant)])),
    ],
  },
});
