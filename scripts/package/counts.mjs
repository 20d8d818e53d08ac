import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { refuse } from './checks.mjs';
import { entriesOf, exportedFrom, symbolsOf } from './exported.mjs';
import { problemsWithSizes, sizes, sizesTableOf } from './sizes.mjs';

/**
 * The names that users of a package have: `conclave Session`, `SessionOptions.leaseMs`, `dashboard`.
 *
 * @typedef {{ exports: readonly string[], options: readonly string[], commands: readonly string[] }} Surface
 */

const ROOT = join(import.meta.dirname, '../..');
/** The page, below the project's folder. */
export const PAGE = 'scripts/package/counts.md';

/** Each name is a promise for years. */
export const MOST = { exports: 228, options: 140, commands: 10 };
const KINDS = /** @type {const} */ (['exports', 'options', 'commands']);

const OPTIONS = /Options$/;
/** In `conclave --help`, a command with its aliases. The command `help` is commander's. */
const COMMAND = /^ {2}(?!help\b)([a-z][\w-]*)/gm;

/**
 * Lists what a built package has. An export that two modules have is two exports. The commands are those of `conclave --help`, without
 * their subcommands.
 *
 * @param {string} folder - the package's folder, with `dist`
 * @returns {Surface}
 */
export function surfaceOf(folder) {
  const entries = entriesOf(folder);
  return {
    exports: entries.flatMap(({ specifier, types }) =>
      exportedFrom(types)
        .map(({ name }) => `${specifier} ${name}`)
        .sort(),
    ),
    options: optionsOf(entries.map(({ types }) => types)),
    commands: commandsIn(folder),
  };
}

/** The commands in `conclave --help`. @param {string} folder - the package's folder, with `dist` */
export function commandsIn(folder) {
  const help = execFileSync(process.execPath, [join(folder, 'dist/cli/main.js'), '--help'], {
    encoding: 'utf8',
  });
  const listed = help.slice(help.indexOf('\nCommands:'), help.indexOf('\nEnvironment:'));
  return [...listed.matchAll(COMMAND)].map(([, name]) => String(name));
}

/**
 * Lists the options that declaration files have: the properties of each exported type whose name ends with `Options`. A property that
 * several of these types inherit is one option, of the interface that declares it.
 *
 * @param {readonly string[]} files
 */
function optionsOf(files) {
  const { ts, checker, symbols } = symbolsOf(files);
  /** @type {Map<unknown, string>} */
  const byDeclaration = new Map();
  for (const { name: exported, target } of symbols.filter(({ name }) => OPTIONS.test(name)))
    for (const { name, declarations = [] } of checker.getPropertiesOfType(
      checker.getDeclaredTypeOfSymbol(target),
    ))
      for (const declaration of declarations) {
        const { parent } = declaration;
        // The members of a type literal belong to the type that is exported.
        const owner = ts.isInterfaceDeclaration(parent) ? parent.name.text : exported;
        byDeclaration.set(declaration, `${owner}.${name}`);
      }
  return [...byDeclaration.values()].sort();
}

/** The table of the counts. @param {Surface} surface @returns {string} */
export function tableOf(surface) {
  const rows = KINDS.map((kind) => `| ${kind} | ${surface[kind].length} | ${MOST[kind]} |`);
  return ['| what | number | at most |', '|---|---|---|', ...rows].join('\n');
}

/** The page that the project keeps. Each name has a line of its own, so that a difference shows it. @param {Surface} surface */
export function pageOf(surface) {
  const lists = KINDS.map(
    (kind) => `## ${kind[0]?.toUpperCase()}${kind.slice(1)}\n\n${block(surface[kind])}\n`,
  );
  return `# What users can name

\`node scripts/counts.mjs --write\` writes this page from \`dist/\`. \`npm run check:package\` compares it with the package.
[counts.mjs](counts.mjs) says what counts.

${tableOf(surface)}

${lists.join('\n')}`;
}

/** @param {readonly string[]} lines */
function block(lines) {
  return ['```text', ...lines, '```'].join('\n');
}

/**
 * What is wrong with the counts: a page that tells of other names, or more names than there may be.
 *
 * @param {Surface} surface
 * @param {string} page - as the project keeps it
 * @returns {string[]}
 */
export function problemsWith(surface, page) {
  const tooMany = KINDS.filter((kind) => surface[kind].length > MOST[kind]).map(
    (kind) => `${surface[kind].length} ${kind}: expected at most ${MOST[kind]}`,
  );
  if (page === pageOf(surface)) return tooMany;
  const [before, now] = [page.split('\n'), pageOf(surface).split('\n')];
  return [
    ...tooMany,
    `${PAGE} differs, write it by node scripts/counts.mjs --write:`,
    ...before.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !before.includes(line)).map((line) => `+ ${line}`),
  ];
}

/**
 * The check of a built package. It prints the table.
 *
 * @param {string} folder - the package's folder
 * @returns {import('./checks.mjs').Check[]}
 */
export function counts(folder) {
  return [
    {
      name: `exports, options and commands are those of ${PAGE}, and no more than there may be`,
      check: async () => {
        const surface = surfaceOf(folder);
        console.log(tableOf(surface));
        refuse(problemsWith(surface, readFileSync(join(ROOT, PAGE), 'utf8')));
      },
    },
    {
      name: 'there is no more to read than there may be',
      check: async () => {
        const all = sizes();
        console.log(sizesTableOf(all));
        refuse(problemsWithSizes(all));
      },
    },
  ];
}
