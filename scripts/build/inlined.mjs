import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { ROOT, slashed } from './sources.mjs';

/** @import { Plugin } from 'rolldown' */

/**
 * The dependencies that are CommonJS. Of them `dist/` has what it needs, and users install none of them:
 *
 * - Node parses a CommonJS file that is imported for what it exports, before it is run. At the start of a process that took as
 *   long as loading the rest of Conclave.
 * - esbuild can't put a CommonJS file that requires `fs` into an ES module: such a bundle died at its start.
 * - Of node-zookeeper-client the codec is used, 2 of its 20 files, and none of what it depends on.
 */
const PACKAGES = ['eventemitter3', 'node-zookeeper-client'];

/** Whether an import stays one: of Node's own, or of a dependency that users install. @param {string} id */
export function isExternal(id) {
  const isPath = id.startsWith('.') || id.startsWith('/') || /^[A-Za-z]:[\\/]/.test(id);
  return !isPath && !PACKAGES.some((name) => id === name || id.startsWith(`${name}/`));
}

/**
 * What the inlined packages require of Node they get by a call that is right in every kind of module, and that no bundler has
 * to understand. Their licences ask to be where their code is.
 *
 * @returns {Plugin}
 */
export function inlinedPackages() {
  return {
    name: 'inlined packages',
    transform: (code, id) => (slashed(id).includes('/node_modules/') ? withBuiltins(code) : null),
    generateBundle() {
      const texts = PACKAGES.map((name) => {
        const read = (/** @type {string} */ file) =>
          readFileSync(join(ROOT, 'node_modules', name, file), 'utf8');
        return `${name} ${JSON.parse(read('package.json')).version}\n\n${read('LICENSE').trim()}\n`;
      });
      this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY-LICENSES.txt', source: texts.join('\n\n') });
    },
  };
}

/** @param {string} code - of a CommonJS file */
export function withBuiltins(code) {
  return code.replaceAll(/\brequire\((['"])([^'"]+)\1\)/g, (call, _, name) =>
    builtinModules.includes(name.replace(/^node:/, '')) ? `process.getBuiltinModule('${name}')` : call,
  );
}
