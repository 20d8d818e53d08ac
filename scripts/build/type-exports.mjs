/**
 * Makes what isn't there at run time a type, where a rolled-up declaration file exports it. A class that `src/` exports by
 * `export type` is declared as a class all the same, and rolled up it looks as if it could be imported and made.
 *
 * @param {string} code - of a declaration file that exports all by lists of names
 * @param {ReadonlySet<string>} values - what the JavaScript exports
 * @returns {string}
 */
export function asTypes(code, values) {
  return code.replaceAll(/^export \{([^}]*)\};/gm, (_, list) => {
    const names = list.split(',').map((/** @type {string} */ name) => name.trim());
    const isValue = (/** @type {string} */ name) => values.has(name.split(' as ').at(-1) ?? name);
    return [
      exported('export', names.filter(isValue)),
      exported(
        'export type',
        names.filter((/** @type {string} */ name) => !isValue(name)),
      ),
    ]
      .filter((line) => line !== '')
      .join('\n');
  });
}

/** @param {string} keyword @param {readonly string[]} names */
function exported(keyword, names) {
  return names.length === 0 ? '' : `${keyword} { ${names.join(', ')} };`;
}
