import { refuse } from '../protocol/refusal.js';

/** ZooKeeper's rules for paths, of `PathUtils` and `PrepRequestProcessor`. The parent of `/a` is the empty path. */

const SPECIAL = new Set(['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config']);

// What `PathUtils` refuses: control characters, surrogates and the private use area, specials.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const REFUSED_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/;
const REFUSED_PARTS = /\/\/|\/\.{1,2}(\/|$)/;

/** @throws Refusal (BAD_ARGUMENTS) */
export function requireValidPath(path: string): void {
  const valid =
    path === '/' ||
    (path.startsWith('/') &&
      !path.endsWith('/') &&
      !REFUSED_CHARACTERS.test(path) &&
      !REFUSED_PARTS.test(path));
  if (!valid) refuse('BAD_ARGUMENTS');
}

/** The parent of a node that is to be created, before its name is complete. @throws Refusal (BAD_ARGUMENTS) */
export function parentForCreate(path: string): string {
  if (!path.includes('/') || path.includes('\0')) refuse('BAD_ARGUMENTS');
  return parentOf(path);
}

/** The parent of a node that is to be deleted: not of those that belong to the server. @throws Refusal (BAD_ARGUMENTS) */
export function parentForDelete(path: string): string {
  if (SPECIAL.has(path)) refuse('BAD_ARGUMENTS');
  return parentForCreate(path);
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The path by which a parent is watched and asked for: the root's is `/`. */
export function visible(path: string): string {
  return path === '' ? '/' : path;
}

/** What a sequential node's name ends in: Java's `%010d` of a signed 32-bit number, which counts its sign too. */
export function sequenceSuffix(counter: number): string {
  return counter < 0 ? `-${String(-counter).padStart(9, '0')}` : String(counter).padStart(10, '0');
}
