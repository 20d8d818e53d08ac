import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/**
 * @typedef {object} Exported
 * @property {string} name
 * @property {boolean} isValue - whether the export exists at run time, by its declaration
 * @property {number} parameters - the number of its type parameters
 */

/** The modules that users can import, by the package.json of its folder, with the paths of their declarations. @param {string} folder */
export function entriesOf(folder) {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return Object.entries(exports).flatMap(([subpath, { types }]) =>
    types === undefined ? [] : [{ specifier: join('conclave', subpath), types: join(folder, types) }],
  );
}

/** Loaded late, because loading it takes half a second. */
export function loadTypeScript() {
  return /** @type {typeof import('typescript')} */ (createRequire(import.meta.url)('typescript'));
}

/** What declaration files export: the symbols, and what they stand for. @param {readonly string[]} files */
export function symbolsOf(files) {
  const ts = loadTypeScript();
  const program = ts.createProgram(files, { noLib: true, types: [] });
  const checker = program.getTypeChecker();
  const symbols = files.flatMap((path) => {
    const source = program.getSourceFile(path);
    const file = source && checker.getSymbolAtLocation(source);
    if (file === undefined) throw new Error(`${path} exports nothing`);
    return checker.getExportsOfModule(file).map((symbol) => {
      const { name, flags, declarations = [] } = symbol;
      const target = flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return { name, declarations, target };
    });
  });
  return { ts, checker, symbols };
}

/**
 * Lists the exports of a declaration file.
 *
 * @param {string} path
 * @returns {Exported[]}
 */
export function exportedFrom(path) {
  const { ts, symbols } = symbolsOf([path]);
  return symbols.map(({ name, declarations, target }) => {
    const isTypeOnly = declarations.some(ts.isTypeOnlyExportDeclaration);
    const parameters = (target.declarations ?? []).map((declaration) =>
      'typeParameters' in declaration
        ? /** @type {import('typescript').TypeParameterDeclaration[]} */ (declaration.typeParameters ?? [])
            .length
        : 0,
    );
    const isValue = !isTypeOnly && (target.flags & ts.SymbolFlags.Value) !== 0;
    return { name, isValue, parameters: Math.max(0, ...parameters) };
  });
}

/**
 * Writes a program that uses each export: as a value if it exists at run time, else as a type.
 *
 * @param {string} specifier - the module that the program imports them from
 * @param {readonly Exported[]} exported
 */
export function usingAll(specifier, exported) {
  const lines = exported.map(({ name, isValue, parameters }, index) => {
    // `never` satisfies the constraint of any type parameter.
    const given = parameters === 0 ? '' : `<${Array(parameters).fill('never').join(', ')}>`;
    return isValue
      ? `export const value${index}: typeof all.${name} = all.${name};`
      : `export type Type${index} = all.${name}${given};`;
  });
  return `import * as all from '${specifier}';\n\n${lines.join('\n')}\n`;
}
