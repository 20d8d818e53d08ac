import { join, relative, sep } from 'node:path';
import { entriesOf } from '../package/exported.mjs';

export const ROOT = join(import.meta.dirname, '../..');
export const SOURCES = join(ROOT, 'src');
export const BUILT = join(ROOT, 'dist');

/** The sources of the modules that users import, by the `exports` of package.json, without extension: `index`, `testing/index` and so on. */
export const PUBLIC_ENTRIES = entriesOf(ROOT).map(({ types }) =>
  slashed(relative(BUILT, types)).replace(/\.d\.ts$/, ''),
);

/** @param {string} name the name of a source, without extension @returns {string} its path */
export function sourceOf(name) {
  return join(SOURCES, `${name}.ts`);
}

/** @param {string} path */
export function slashed(path) {
  return path.split(sep).join('/');
}

/**
 * @param {string} start
 * @param {{ getModuleInfo(id: string): { importedIds: readonly string[] } | null }} graph - the bundler's module graph
 * @returns {Set<string>} all modules that `start` imports, directly or not
 */
export function importsOf(start, graph) {
  const reached = new Set([start]);
  // The loop also visits the modules that it adds to the set.
  for (const id of reached)
    for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) reached.add(imported);
  reached.delete(start);
  return reached;
}
