import ts from 'typescript';

/**
 * Lets callers pass `undefined` for each option that they may leave out, also with TypeScript's `exactOptionalPropertyTypes`: Conclave takes
 * it for an option that is left out.
 *
 * @param {string} code - a declaration file
 * @returns {string}
 */
export function takingUndefined(code) {
  const source = ts.createSourceFile('a.d.ts', code, ts.ScriptTarget.Latest, true);
  const types = source.statements
    .filter((each) => ts.isInterfaceDeclaration(each) && OF_OPTIONS.test(each.name.text))
    .flatMap((each) => [.../** @type {ts.InterfaceDeclaration} */ (each).members])
    .flatMap((each) => (ts.isPropertySignature(each) && each.questionToken && each.type) || []);
  return types
    .reverse()
    .reduce(
      (text, { pos, end }) =>
        `${text.slice(0, pos)} (${text.slice(pos, end).trim()}) | undefined${text.slice(end)}`,
      code,
    );
}

const OF_OPTIONS = /Options$|^ShutdownLimits$|^ElectionInNest$/;
