import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import { mutate } from './apply.mjs';
import { MUTANTS, type Mutant } from './mutants.mjs';

const sources = resolve(import.meta.dirname, '../../src');

/**
 * Gives the tests the mutant's version of the files that it changes. The files on disk stay as they are. All other modules are compiled
 * once for all mutants: the projects share what is compiled, since their plugins have the same name.
 */
function mutation(mutant: Mutant | undefined): Plugin {
  const changes = (id: string) => mutant?.edits.some(({ file }) => file === relative(sources, id)) ?? false;
  const plugin: Plugin = {
    name: 'mutation',
    enforce: 'pre',
    transform: (code, id) =>
      mutant !== undefined && changes(id) ? mutate(mutant, relative(sources, id), code) : null,
    configureVitest({ experimental_defineCacheKeyGenerator: keyOf }) {
      keyOf(({ environment, id }) =>
        environment.config.plugins.includes(plugin) && changes(id) ? mutant?.name : undefined,
      );
    },
  };
  return plugin;
}

const compiled = mkdtempSync(join(tmpdir(), 'mutants-'));
process.once('exit', () => rmSync(compiled, { recursive: true, force: true }));

const asked = process.env.CONCLAVE_MUTANTS?.split(',');
const mutants = MUTANTS.filter(({ name }) => asked === undefined || asked.includes(name));
const files = process.env.CONCLAVE_MUTANTS_FILES?.split(',');

function project(name: string, include: string[], mutant?: Mutant) {
  return {
    plugins: [mutation(mutant)],
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
    experimental: { fsModuleCache: true, fsModuleCachePath: compiled },
    projects: [
      project('none', files ?? [...new Set(mutants.map(({ file }) => `test/${file}`))]),
      ...mutants.map((mutant) => project(mutant.name, files ?? [`test/${mutant.file}`], mutant)),
    ],
  },
});
