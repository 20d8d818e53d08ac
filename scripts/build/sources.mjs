import { join, sep } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');
export const SOURCES = join(ROOT, 'src');
export const BUILT = join(ROOT, 'dist');

/** What users import by name: `conclave`, `conclave/testing` and `conclave/node-cron`. */
export const PUBLIC_ENTRIES = ['index', 'testing/index', 'node-cron/index'];

/** @param {string} name @returns {string} the path of a source, of which the name has no ending */
export function sourceOf(name) {
  return join(SOURCES, `${name}.ts`);
}

/** @param {string} path */
export function slashed(path) {
  return path.split(sep).join('/');
}

/**
 * @param {string} start
 * @param {{ getModuleInfo(id: string): { importedIds: readonly string[] } | null }} graph - a bundler's
 * @returns {Set<string>} all that it imports, and what that imports
 */
export function importsOf(start, graph) {
  const reached = new Set([start]);
  // A set is walked with what is added to it on the way.
  for (const id of reached)
    for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) reached.add(imported);
  reached.delete(start);
  return reached;
}
