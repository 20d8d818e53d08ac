import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** What decides who leads. */
const CORE = /^src\/(election|lease|queue|lock|session|shards\/ownership|cluster\/dead-children)\//;
const OBSERVERS = /^src\/election\/observer\//;
/** The simulated worlds: with the model of the servers, and what it is made of. */
const WORLD = /^(test|src\/testing|src\/wire)\//;
const PLATFORM = /^src\/platform\//;
/** What is said of options and in the log. It changes often, and no decision depends on it. */
const WORDS = /^src\/(platform\/(checks|printable|logging\/[^/]+)|(.+\/)?[^/]+-options)\.js$/;

const STATIC = /^(?:import\s*|(?:import|export)\b[^;'"]*?\bfrom\s*)["']([^"']+)["'];/gm;
const DYNAMIC = /\bimport\(["']([^"']+)["']\)/g;

/** The modules of the program that a compiled module imports, by their paths. */
export function importsOf(path: string, source: string): string[] {
  const names = [STATIC, DYNAMIC].flatMap((each) => [...source.matchAll(each)].map(([, name = '']) => name));
  return names.filter((name) => name.startsWith('.')).map((name) => join(dirname(path), name));
}

function allImportedBy(
  first: readonly string[],
  read: (path: string) => string,
  follows = (_: string) => true,
): Set<string> {
  const found = new Set(first);
  for (const path of found)
    for (const each of importsOf(path, read(path))) if (follows(each)) found.add(each);
  return found;
}

const isCore = (path: string) => CORE.test(path) && !OBSERVERS.test(path);

/**
 * The modules of a simulation on which it depends who leads: the core, what it imports of the platform, and the simulated world.
 * @param program - what runs one world
 */
export function coreModules(program: string, read: (path: string) => string): string[] {
  const parts = [...allImportedBy([program], read)].filter((path) => isCore(path) || WORLD.test(path));
  const withPlatform = allImportedBy(parts, read, (path) => PLATFORM.test(path));
  return [...withPlatform].filter((path) => !WORDS.test(path)).sort();
}

/** A hash of these modules. They are compiled and have no comments, so neither comments nor types change it. */
export function coreHash(program: string, read: (path: string) => string): string {
  const hash = createHash('sha256');
  for (const path of coreModules(program, read)) hash.update(`${path}\0${read(path)}\0`);
  return hash.digest('hex').slice(0, 12);
}

/** Of the compiled program that runs. @param run - the path of the compiled module that runs one world */
export function hashOfCompiled(run: string): string {
  let root = dirname(run);
  while (!existsSync(join(root, 'src'))) root = dirname(root);
  return coreHash(relative(root, run), (path) => readFileSync(join(root, path), 'utf8'));
}
