import { join } from 'node:path';
import { ROOT } from '../build/sources.mjs';
import { entriesOf, exportedFrom, loadTypeScript } from '../package/exported.mjs';
import { readPage } from './pages.mjs';

/** @typedef {{ file: string, line: number, text: string }} Snippet */

const LANGUAGES = ['js', 'ts', 'mjs', 'mts', 'javascript', 'typescript'];
/** Objects that code blocks use without declaring them. */
const USUAL = {
  supervisor: "import('conclave').ElectionSupervisor",
  session: "import('conclave').Session",
  elector: "import('conclave').LeaderElector",
  observer: "import('conclave').ElectionObserver",
  lock: "import('conclave').DistributedLock",
  term: "import('conclave').Term",
  server: "import('conclave/testing').EmbeddedZooKeeper",
  clock: "import('conclave/testing').TestClock",
};
const OPTIONS = {
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  target: 'ES2023',
  lib: ['ES2023', 'ESNext.Disposable'],
  types: ['node'],
  noEmit: true,
  strict: true,
  noImplicitAny: false,
  skipLibCheck: true,
};
/** TypeScript's numbers for "Cannot find name". */
const UNKNOWN_NAME = [2304, 2552, 2580, 2582, 2591, 2593];
/** "No value exists in scope for the shorthand property". */
const UNKNOWN_SHORTHAND = 18004;
/** "Cannot find module". The reader's own project has the module. */
const UNKNOWN_MODULE = 2307;

/**
 * Compiles the code blocks of pages against Conclave's declarations. If a block doesn't declare a name and Conclave doesn't export
 * it, the name is the reader's own and may have any type.
 *
 * @param {readonly string[]} files
 * @returns {string[]} the compiler's messages
 */
export function wrongCodeIn(files) {
  // A block that is a part of a file is compiled with the file. test/unit/guides.test.ts compares it with the file.
  return wrongSnippets(snippetsIn(files, ({ isPartOfFile }) => isPartOfFile !== true));
}

/**
 * Looks for code blocks that use what Conclave exports without importing it: a reader can't copy them. A block that is a part of a
 * file is looked at, too.
 *
 * @param {readonly string[]} files
 * @returns {string[]} the problems
 */
export function missingImportsIn(files) {
  return snippetsWithoutImports(snippetsIn(files));
}

/** @param {readonly string[]} files @param {(block: import('./pages.mjs').CodeBlock) => boolean} [suits] @returns {Snippet[]} */
function snippetsIn(files, suits = () => true) {
  return files.flatMap((file) =>
    readPage(file)
      .code.filter((block) => LANGUAGES.includes(block.language) && suits(block))
      .map(({ line, text }) => ({ file, line, text })),
  );
}

/** @param {readonly Snippet[]} snippets @returns {string[]} */
export function snippetsWithoutImports(snippets) {
  const ts = loadTypeScript();
  const known = exportsOfAll();
  return snippets.flatMap(({ file, line, text }) =>
    undeclaredNames(text, ts).flatMap((name) => {
      const specifier = known.get(name);
      return specifier === undefined
        ? []
        : [`${file}:${line}: the block lacks import { ${name} } from '${specifier}'`];
    }),
  );
}

/**
 * The names that a block uses and doesn't declare anywhere. The block may be a part of a file.
 * @param {string} text
 * @param {typeof import('typescript')} ts
 */
function undeclaredNames(text, ts) {
  const used = new Set();
  const declared = new Set();
  /** @param {import('typescript').Node} node */
  const visit = (node) => {
    if (ts.isIdentifier(node)) {
      const { parent } = node;
      const isName = 'name' in parent && parent.name === node && !ts.isShorthandPropertyAssignment(parent);
      if (!isName) used.add(node.text);
      else if (!ts.isPropertyAccessExpression(parent)) declared.add(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('block.ts', text, ts.ScriptTarget.Latest, true));
  return [...used].filter((name) => !declared.has(name));
}

/** @param {readonly Snippet[]} snippets @returns {string[]} */
export function wrongSnippets(snippets) {
  const ts = loadTypeScript();
  const parsed = ts.convertCompilerOptionsFromJson(OPTIONS, ROOT);
  const known = exportsOfAll();
  const names = snippets.map((_, index) => join(ROOT, `docs/snippet-${index}.mts`));
  const originals = new Map(snippets.map(({ text }, index) => [/** @type {string} */ (names[index]), text]));
  /** @type {Map<string, string>} */
  const texts = new Map(originals);
  const host = ts.createCompilerHost(parsed.options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  /** @type {Map<string, import('typescript').SourceFile | undefined>} */
  const libraries = new Map();
  host.getSourceFile = (path, languageVersion) => {
    const text = texts.get(path);
    if (text !== undefined) return ts.createSourceFile(path, text, languageVersion);
    if (!libraries.has(path)) libraries.set(path, getSourceFile(path, languageVersion));
    return libraries.get(path);
  };
  /** @type {import('typescript').Program | undefined} */
  let program;
  const diagnose = () => {
    program = ts.createProgram(names, parsed.options, host, program);
    return ts.getPreEmitDiagnostics(program);
  };
  for (const [name, missing] of missingNames(diagnose(), ts))
    texts.set(
      name,
      `${originals.get(name)}\nexport {};\n${[...missing].map((each) => declared(each, known)).join('\n')}\n`,
    );
  return diagnose().flatMap(({ file, start = 0, code, messageText }) => {
    const index = names.indexOf(file?.fileName ?? '');
    const snippet = snippets[index];
    const message = ts.flattenDiagnosticMessageText(messageText, ' ');
    if (file === undefined || snippet === undefined) return [message];
    if (code === UNKNOWN_MODULE && !/'(?:conclave|node:|node-cron)/.test(message)) return [];
    const { line } = file.getLineAndCharacterOfPosition(start);
    return [`${snippet.file}:${snippet.line + line + 1}: ${message}`];
  });
}

/**
 * @param {readonly import('typescript').Diagnostic[]} diagnostics
 * @param {typeof import('typescript')} ts
 */
function missingNames(diagnostics, ts) {
  /** @type {Map<string, Set<string>>} */
  const missing = new Map();
  for (const { file, code, messageText } of diagnostics) {
    if (file === undefined || !(UNKNOWN_NAME.includes(code) || code === UNKNOWN_SHORTHAND)) continue;
    const [, name = ''] = /'(\w+)'/.exec(ts.flattenDiagnosticMessageText(messageText, ' ')) ?? [];
    missing.set(file.fileName, (missing.get(file.fileName) ?? new Set()).add(name));
  }
  return missing;
}

/** @param {string} name @param {ReadonlyMap<string, string>} known */
function declared(name, known) {
  const specifier = known.get(name);
  if (specifier !== undefined) return `import { ${name} } from '${specifier}';`;
  const type = USUAL[/** @type {keyof typeof USUAL} */ (name)] ?? 'any';
  return `declare const ${name}: ${type};\ntype ${name} = any;`;
}

/** @returns {Map<string, string>} for each exported name, the first module that exports it */
function exportsOfAll() {
  /** @type {Map<string, string>} */
  const known = new Map();
  for (const { specifier, types } of entriesOf(ROOT))
    for (const { name } of exportedFrom(types)) if (!known.has(name)) known.set(name, specifier);
  return known;
}
