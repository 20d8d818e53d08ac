import { join, sep } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');
export const SOURCES = join(ROOT, 'src');
export const BUILT = join(ROOT, 'dist');

/** The modules that users import: `conclave`, and `conclave/testing`, `/node-cron`, `/metrics` and `/dashboard`. */
export const PUBLIC_ENTRIES = [
  'index',
  'testing/index',
  'node-cron/index',
  'metrics/index',
  'dashboard/index',
];

/** @param {string} name of a source, without extension @returns {string} its path */
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
 * @returns {Set<string>} all modules that it imports, directly or not
 */
export function importsOf(start, graph) {
  const reached = new Set([start]);
  // The loop also visits what is added to the set meanwhile.
  for (const id of reached)
    for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) reached.add(imported);
  reached.delete(start);
  return reached;
}
