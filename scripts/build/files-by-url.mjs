import { dirname, join, relative, resolve } from 'node:path';
import { ROOT, SOURCES, slashed, sourceOf } from './sources.mjs';

/** @import { Plugin } from 'rolldown' */

const OUTSIDE = [join(ROOT, 'package.json')];

/**
 * Rewrites `new URL('./file', import.meta.url)`, by which a source finds another file. The bundler knows which file of `dist/`
 * contains the expression only when it writes that file. Until then the name is relative to `dist/`.
 *
 * The URL of a worker thread contains the thread's code. A user's bundler doesn't see a file that a URL names, and would leave
 * the file out of the user's bundle.
 *
 * @param {readonly string[]} entries - the names of the files of `dist/`, without extension
 * @param {ReadonlyMap<string, string>} threads - the code of each thread, by name without extension
 * @returns {Plugin}
 */
export function filesByUrl(entries, threads) {
  /** @param {string} path @returns {string} the arguments of `new URL()` */
  const target = (path) => {
    for (const [name, code] of threads)
      if (path === compiled(name)) return `'data:text/javascript,${encoded(code)}'`;
    const isThere = OUTSIDE.includes(path) || entries.some((name) => path === compiled(name));
    if (!isThere) throw new Error(`a source asks for ${path}, which the bundle won't have`);
    return `'dist:${slashed(relative(SOURCES, path))}', import.meta.url`;
  };
  return {
    name: 'files by URL',
    transform: (code, id) =>
      code.replaceAll(/(?<=new URL\()'([^']+)', import\.meta\.url(?=\))/g, (_, file) =>
        target(resolve(dirname(id), file)),
      ),
    renderChunk: (code, { fileName }) =>
      code.replaceAll(/(?<=new URL\(")dist:([^"]+)/g, (_, path) =>
        slashed(relative(dirname(fileName), path)),
      ),
  };
}

/** @param {string} name */
function compiled(name) {
  return sourceOf(name).replace(/\.ts$/, '.js');
}

/** Encodes apostrophes too, which `encodeURIComponent` leaves alone and which would end the string. @param {string} code */
function encoded(code) {
  return encodeURIComponent(code).replaceAll("'", '%27');
}
