/**
 * Compiles a user's programs with several configurations, one after the other in one process, and prints what is wrong.
 *
 *     node scripts/package/compile.mjs COMPILER CONFIGURATION...     the compiler: a package with TypeScript's JavaScript API
 *
 * It checks the programs and Conclave's declarations. Those of other packages would take most of the time, and Conclave doesn't change
 * them.
 */
import { createRequire } from 'node:module';

const [compiler = '', ...configurations] = process.argv.slice(2);
/** @type {typeof import('typescript')} */
const ts = createRequire(import.meta.url)(compiler);
/** @type {import('typescript').FormatDiagnosticsHost} */
const format = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: ts.sys.getCurrentDirectory,
  getNewLine: () => '\n',
};

/** @param {string} configuration @returns {readonly import('typescript').Diagnostic[]} */
function diagnosticsOf(configuration) {
  /** @type {import('typescript').Diagnostic[]} */
  const fatal = [];
  const parsed = ts.getParsedCommandLineOfConfigFile(
    configuration,
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (diagnostic) => void fatal.push(diagnostic) },
  );
  if (parsed === undefined) return fatal;
  const program = ts.createProgram(parsed.fileNames, parsed.options);
  const checked = program
    .getSourceFiles()
    .filter(({ fileName }) => !/\/node_modules\/(?!conclave\/)/.test(fileName));
  if (!checked.some(({ fileName }) => fileName.includes('/node_modules/conclave/')))
    throw new Error(`${configuration}: no program imports conclave`);
  return [
    ...parsed.errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...checked.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
      ...program.getDeclarationDiagnostics(file),
    ]),
  ];
}

for (const configuration of configurations) {
  const text = ts.formatDiagnostics(diagnosticsOf(configuration), format);
  if (text !== '') process.stdout.write(`${configuration}:\n${text}`);
}
