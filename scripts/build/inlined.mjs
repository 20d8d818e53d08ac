import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { PAGE_MODULE } from './page.mjs';
import { ROOT, slashed } from './sources.mjs';

/** @import { Plugin } from 'rolldown' */

/**
 * CommonJS dependencies. `dist/` contains the parts of them that Conclave uses, so users don't install them. The reasons:
 *
 * - Before Node runs a CommonJS file that an ES module imports, Node parses the file for its exports. At the start of a process
 *   this parsing took as long as loading the rest of Conclave.
 * - esbuild can't put a CommonJS file that requires `fs` into an ES module: such a bundle failed at its start.
 * - Conclave uses only the codec of node-zookeeper-client: 2 of its 20 files, and none of its dependencies.
 */
const PACKAGES = ['eventemitter3', 'node-zookeeper-client'];
/** Packages that the dashboard's page contains. `dist/` contains the page. */
const PACKAGES_OF_PAGE = ['preact'];

/** Whether an import stays an import, because it names one of Node's modules or a dependency that users install. @param {string} id */
export function isExternal(id) {
  if (id === PAGE_MODULE) return false;
  const isPath = id.startsWith('.') || id.startsWith('/') || /^[A-Za-z]:[\\/]/.test(id);
  return !isPath && !PACKAGES.some((name) => id === name || id.startsWith(`${name}/`));
}

/**
 * Inlines the packages. They get Node's modules from `process.getBuiltinModule`, which works in every kind of module, and which
 * bundlers leave alone. The packages' licenses must be distributed with their code.
 *
 * @returns {Plugin}
 */
export function inlinedPackages() {
  return {
    name: 'inlined packages',
    transform: (code, id) => (slashed(id).includes('/node_modules/') ? withBuiltins(code) : null),
    generateBundle() {
      const texts = [...PACKAGES, ...PACKAGES_OF_PAGE].map((name) => {
        const read = (/** @type {string} */ file) =>
          readFileSync(join(ROOT, 'node_modules', name, file), 'utf8');
        return `${name} ${JSON.parse(read('package.json')).version}\n\n${read('LICENSE').trim()}\n`;
      });
      this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY-LICENSES.txt', source: texts.join('\n\n') });
    },
  };
}

/** @param {string} code - the code of a CommonJS file */
export function withBuiltins(code) {
  return code.replaceAll(/\brequire\((['"])([^'"]+)\1\)/g, (call, _, name) =>
    builtinModules.includes(name.replace(/^node:/, '')) ? `process.getBuiltinModule('${name}')` : call,
  );
}
