/**
 * What the result of some tests depends on: the files that they import or start, those that these import or start, and the versions of the
 * packages. Comments and line breaks don't count.
 */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { transformSync } from 'esbuild';
import { globSync } from 'tinyglobby';
import { FILE } from './records.mjs';

const CODE = ['.ts', '.tsx', '.mjs', '.js'];
/** What follows `from`, `import` or a bracket, and any other path of a file: of a program that is started, or of data that are read. */
const SPECIFIER = /(?:\bfrom|\bimport)\s*\(?\s*(['"])([^'"\n]+)\1/g;
const PATH = /(['"`])([\w@./-]*\w\.(?:ts|tsx|mjs|cjs|js|json|pml|sh|py|java|css))\1/g;

/**
 * @param {string} root - the project's folder
 * @param {readonly string[]} patterns - of files below the root, all of which count. Pages count only if a pattern ends with `.md`
 * @param {readonly string[]} apartFrom - folders whose files don't count, nor what only they import: `src/lock/`
 * @returns {{ files: ReadonlyMap<string, string>, packages: ReadonlyMap<string, string> }} what counts of each file,
 *   by its path below the root, and the versions of packages
 */
export function inputsOf(root, patterns, apartFrom = []) {
  /** @type {Map<string, string>} */
  const files = new Map();
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  /** @type {Map<string, string>} */
  const packages = new Map();
  const pages = patterns.filter((pattern) => pattern.endsWith('.md'));
  const others = patterns.filter((pattern) => !pattern.endsWith('.md'));
  const waiting = [
    ...globSync(others, { cwd: root, ignore: ['**/*.md', '**/*.{png,svg}', '**/node_modules/**'] }),
    ...globSync(pages, { cwd: root, ignore: ['**/node_modules/**'] }),
  ];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files.has(path) || path === FILE || apartFrom.some((folder) => path.startsWith(folder))) continue;
    const text = readFileSync(join(root, path), 'utf8');
    const isCode = CODE.includes(extname(path)) && !path.endsWith('.d.ts'); // Declarations are nothing without their types.
    const code = isCode ? withoutComments(path, text) : text;
    files.set(path, code);
    if (!isCode) continue;
    for (const [, , name = ''] of code.matchAll(SPECIFIER)) {
      const found = sourceOf(root, path, name);
      const [inPackage = ''] = /^(?:@[^/]+\/)?[^/]+/.exec(name) ?? [];
      const { version } = locked[`node_modules/${inPackage}`] ?? {};
      if (found !== undefined) waiting.push(found);
      else if (version !== undefined) packages.set(inPackage, version);
    }
    for (const [, , name = ''] of code.matchAll(PATH)) {
      const found = sourceOf(root, path, name);
      if (found !== undefined) waiting.push(found);
    }
  }
  return { files, packages };
}

/** A digest of the inputs. @param {string} root @param {readonly string[]} patterns @param {readonly string[]} [apartFrom] */
export function digestOf(root, patterns, apartFrom) {
  const { files, packages } = inputsOf(root, patterns, apartFrom);
  const parts = [files, packages].flatMap((each) => [...each].sort(([a], [b]) => (a < b ? -1 : 1)).flat());
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 24);
}

/** @param {string} path @param {string} text */
function withoutComments(path, text) {
  const loader = /** @type {'ts' | 'tsx' | 'js'} */ (
    /^\.tsx?$/.test(extname(path)) ? extname(path).slice(1) : 'js'
  );
  return transformSync(text, {
    loader,
    minifyWhitespace: true,
    legalComments: 'none',
    jsx: 'preserve',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  }).code;
}

/**
 * The file of this project that a file names: beside it, below the root, `test` or `src`, as a built file, or as an entry of the package.
 *
 * @param {string} root @param {string} path @param {string} name
 */
function sourceOf(root, path, name) {
  const [, entry] = /^conclave(\/[\w-]+)?$/.exec(name) ?? [];
  if (name === 'conclave' || entry !== undefined) return `src${entry ?? ''}/index.ts`;
  const candidates = [dirname(path), '', 'test', 'src']
    .map((folder) => join(folder, name).replace(/^dist\//, 'src/'))
    .flatMap((each) => [each, each.replace(/js$/, 'ts'), each.replace(/js$/, 'tsx')]);
  if (candidates[0] === 'package.json') return 'src/cli/main.ts'; // It names the command.
  return candidates.find(
    (each) =>
      /^(?:src|test|scripts|tools|bench|examples)\//.test(each) &&
      statSync(join(root, each), { throwIfNoEntry: false })?.isFile(),
  );
}
