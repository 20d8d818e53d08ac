import { fail } from '../protocol/error-reply.js';

/** ZooKeeper's rules for paths, from `PathUtils` and `PrepRequestProcessor`. The parent of `/a` is the empty path. */

const SPECIAL = new Set(['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config']);

// Refused by `PathUtils`: control characters, surrogates and the private use area, specials.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are refused
const REFUSED_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/;
const REFUSED_PARTS = /\/\/|\/\.{1,2}(\/|$)/;

/** @throws ErrorReply (BAD_ARGUMENTS) */
export function requireValidPath(path: string): void {
  const valid =
    path === '/' ||
    (path.startsWith('/') &&
      !path.endsWith('/') &&
      !REFUSED_CHARACTERS.test(path) &&
      !REFUSED_PARTS.test(path));
  if (!valid) fail('BAD_ARGUMENTS');
}

/** The parent of a node to be created, before its name is complete. @throws ErrorReply (BAD_ARGUMENTS) */
export function parentForCreate(path: string): string {
  if (!path.includes('/') || path.includes('\0')) fail('BAD_ARGUMENTS');
  return parentOf(path);
}

/** The parent of a node to be deleted, which must not belong to the server. @throws ErrorReply (BAD_ARGUMENTS) */
export function parentForDelete(path: string): string {
  if (SPECIAL.has(path)) fail('BAD_ARGUMENTS');
  return parentForCreate(path);
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The path of a parent in requests and watches: the root's is `/`. */
export function visible(path: string): string {
  return path === '' ? '/' : path;
}

/** The suffix of a sequential node's name: Java's `%010d` of a signed 32-bit number, which counts the sign too. */
export function sequenceSuffix(counter: number): string {
  return counter < 0 ? `-${String(-counter).padStart(9, '0')}` : String(counter).padStart(10, '0');
}
