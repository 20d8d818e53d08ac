import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');
export const SOURCES = join(ROOT, 'src');
export const BUILT = join(ROOT, 'dist');

/** The modules that users import, by the `exports` of package.json: `conclave` first, then `conclave/testing` and so on. */
export const PUBLIC_MODULES = publicModules(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
/** Their sources, without extension: `index`, `testing/index` and so on. */
export const PUBLIC_ENTRIES = PUBLIC_MODULES.map(({ entry }) => entry);

/**
 * @param {{ name: string, exports: Record<string, string | { types: string, default: string }> }} manifest
 * @returns {{ specifier: string, entry: string }[]}
 */
export function publicModules({ name, exports }) {
  return Object.entries(exports).flatMap(([subpath, target]) => {
    if (typeof target === 'string') return []; // package.json itself.
    const entry = slashed(relative(BUILT, join(ROOT, target.default))).replace(/\.js$/, '');
    return [{ specifier: `${name}${subpath.slice(1)}`, entry }];
  });
}

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
