import { dirname, join, relative, resolve } from 'node:path';
import { ROOT, SOURCES, slashed, sourceOf } from './sources.mjs';

/** @import { Plugin } from 'rolldown' */

const OUTSIDE = [join(ROOT, 'package.json')];

/**
 * A source finds another file by `new URL('./file', import.meta.url)`. From which file of `dist/` that is asked is known
 * only when this is written: until then the name is the one below `dist/`.
 *
 * The code of a thread is put in its URL. A user's bundler doesn't know of a file that is named so, and the thread would be
 * missing beside the user's bundle.
 *
 * @param {readonly string[]} entries - what is a file of `dist/`, by its name without an ending
 * @param {ReadonlyMap<string, string>} threads - the code of each thread, by the same kind of name
 * @returns {Plugin}
 */
export function filesByUrl(entries, threads) {
  /** @param {string} path @returns {string} what the URL is made from */
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

/** An apostrophe is the one character that `encodeURIComponent` leaves, and that ends a string. @param {string} code */
function encoded(code) {
  return encodeURIComponent(code).replaceAll("'", '%27');
}
