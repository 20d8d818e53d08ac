import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, posix, resolve } from 'node:path';
import { preProcessFile } from 'typescript';

/** One TypeScript file with its imports, also those by `import type`, `import()` and `export … from`. */
export interface Module {
  /** The file's path below the folder that was read. */
  readonly file: string;
  readonly text: string;
  /** The other files of the folder that it imports, each once. */
  readonly imports: readonly string[];
  /** The packages that it imports, each once. */
  readonly packages: readonly string[];
}

export const SOURCES = resolve(import.meta.dirname, '../../src');

/** Reads all TypeScript files below a folder. */
export function readModules(folder: string): Module[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const sources = files.filter((file) => /\.tsx?$/.test(file)).sort();
  const known = new Set(sources);
  // An import names the compiled file, which doesn't show whether the source has JSX in it.
  const existing = (file: string) => (known.has(`${file}x`) ? `${file}x` : file);
  return sources.map((file) => {
    const module = parseModule(file, readFileSync(join(folder, file), 'utf8'));
    return { ...module, imports: module.imports.map(existing) };
  });
}

export function parseModule(file: string, text: string): Module {
  const names = preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
  const isRelative = (name: string) => name.startsWith('.');
  const target = (name: string) => posix.join(dirname(file), name).replace(/\.js$/, '.ts');
  return {
    file,
    text,
    imports: [...new Set(names.filter(isRelative).map(target))],
    packages: [...new Set(names.filter((name) => !isRelative(name)))],
  };
}

/** Finds import cycles, such as `a → b → a`: at least one in each group of files that import each other. */
export function circlesOf(modules: readonly Pick<Module, 'file' | 'imports'>[]): string[] {
  const importsOf = new Map(modules.map(({ file, imports }) => [file, imports]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) return void circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
    if (done.has(file)) return;
    for (const target of importsOf.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const { file } of modules) visit(file, []);
  return circles;
}

/** Whether a file exports a class that is no error, and nothing that has the file's name. */
export function isNamedOtherwise(file: string, text: string): boolean {
  const plain = (name: string) => name.replaceAll('-', '').toLowerCase();
  const names = [
    ...text.matchAll(/^export (?:abstract )?(?:async )?(class|interface|type|function|const) (\w+)/gm),
  ];
  const hasClass = names.some(([, kind, name]) => kind === 'class' && !name?.endsWith('Error'));
  return (
    hasClass &&
    !names.some(([, , name]) => plain(name ?? '') === plain(basename(file).replace(/\.tsx?$/, '')))
  );
}

export function linesOf(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** A limit on files. A file may pass it if a comment says why, in a line that begins with `excuse` and a colon. */
export interface Limit {
  readonly excuse: string;
  readonly most: number;
  readonly sizeOf: (module: Module) => number;
}

export const LIMITS: readonly Limit[] = [
  { excuse: 'Imports more than 20 modules', most: 20, sizeOf: ({ imports }) => imports.length },
  { excuse: 'Longer than 500 lines', most: 500, sizeOf: ({ text }) => linesOf(text) },
];

/** The files that pass a limit without a reason, and those that give a reason and don't pass it. */
export function offendersOf(modules: readonly Module[], { excuse, most, sizeOf }: Limit): string[] {
  const reason = new RegExp(`^\\s*(?://|/?\\*+) ${excuse}: \\S`, 'm');
  return modules
    .filter((module) => sizeOf(module) > most !== reason.test(module.text))
    .map((module) => `${module.file}: ${sizeOf(module)} of ${most}`);
}

/** Finds files of fewer than `least` lines that a single other file imports, and that no test of their own explains. */
export function fragmentsOf(
  modules: readonly Module[],
  least: number,
  hasTest: (file: string) => boolean,
): string[] {
  const importersOf = (file: string) => modules.filter(({ imports }) => imports.includes(file)).length;
  return modules
    .filter(({ file, text }) => linesOf(text) < least && importersOf(file) === 1 && !hasTest(file))
    .map(({ file }) => file);
}

/** Finds folders with more files than `most`. The files of sub-folders don't count. */
export function crowdedFoldersOf(files: readonly string[], most: number): string[] {
  const folders = new Set(files.map((file) => dirname(file)));
  return [...folders].filter((folder) => files.filter((file) => dirname(file) === folder).length > most);
}

/** Finds tests without a source of the same name beside them. */
export function misplacedTestsOf(tests: readonly string[], sources: ReadonlySet<string>): string[] {
  return tests.filter((test) => !sources.has(test.replace(/\.test\.ts$/, '.ts')));
}

/** Finds imports from a folder to a folder of a later line. Folders of one line may use each other. */
export function upwardImportsOf(
  modules: readonly Pick<Module, 'file' | 'imports'>[],
  rooms: readonly (readonly string[])[],
): string[] {
  const levelOf = (file: string) => rooms.findIndex((level) => level.includes(dirname(file)));
  return modules.flatMap(({ file, imports }) =>
    imports.filter((target) => levelOf(target) > levelOf(file)).map((target) => `${file} imports ${target}`),
  );
}

const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm;
const QUOTED = /"[^"\n]*"|`[^`\n]*`|“[^”]*”|‘[^’]*’/g;
const VAGUE = /\b(?:whoever|somebody|nobody|someone|anybody)\b/gi;

/** How often the comments of a text leave open who acts: "somebody", "whoever" and the like, outside quotation marks. */
export function vagueWordsIn(text: string): number {
  const comments = text.match(COMMENT) ?? [];
  return comments.flatMap((comment) => comment.replace(QUOTED, '').match(VAGUE) ?? []).length;
}
