/**
 * What of the locked dependencies is installed, by package-lock.json and by `node_modules/.package-lock.json`. npm writes that file at the
 * end of an installation, so an installation that was interrupted doesn't count.
 *
 * @typedef {Record<string, { version?: string, dependencies?: Record<string, string>, devDependencies?: Record<string, string>,
 *   optionalDependencies?: Record<string, string> }>} Packages
 *   the `packages` of such a file, by path
 */

/** The folder whose folders are the sets of dependencies, each with a package.json that makes it a workspace. */
export const SETS = 'tools/dependencies';

/**
 * Whether each installed package has the version of the lockfile. A package of a set that isn't installed may be missing.
 *
 * @param {Packages} locked @param {Packages} installed
 */
export function isAsLocked(locked, installed) {
  return Object.entries(installed).every(([path, { version }]) => locked[path]?.version === version);
}

/**
 * Whether all dependencies of a workspace are installed; `''` is the project itself.
 *
 * @param {Packages} locked @param {Packages} installed @param {string} workspace
 */
export function isInstalled(locked, installed, workspace) {
  const { dependencies, devDependencies, optionalDependencies } = locked[workspace] ?? {};
  return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies }).every((name) => {
    const own = `${workspace}/node_modules/${name}`;
    return (own in locked ? own : `node_modules/${name}`) in installed;
  });
}
