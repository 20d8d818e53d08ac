/**
 * Makes type exports, in a rolled-up declaration file, of the exports that don't exist at run time. If `src/` exports a class by
 * `export type`, the rolled-up file exports it as a class. A user's program could then construct the class, and compile, but it
 * would fail at run time.
 *
 * @param {string} code - a declaration file that exports only by lists of names
 * @param {ReadonlySet<string>} values - the exports of the JavaScript
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
