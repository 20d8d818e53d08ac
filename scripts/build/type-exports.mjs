/**
 * Exports as a type, from a rolled-up declaration file, whatever doesn't exist at run time. The rolled-up file declares a
 * class that `src/` exports by `export type` as a class: users could import and construct it, but not at run time.
 *
 * @param {string} code - a declaration file that exports only by lists of names
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
