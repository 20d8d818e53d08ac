import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT, importsOf, PUBLIC_ENTRIES, ROOT } from './sources.mjs';
import { asTypes } from './type-exports.mjs';

/** @import { Plugin } from 'rollup' */

const INDEX = 'index';
/** For a moment: one for each source. Not below node_modules, where they would be taken for a dependency's. */
const SINGLE = join(BUILT, 'declarations');
/** TypeScript 6 doesn't look for the types of Node by itself, and what is missing it then names in one sentence. */
const NEEDS_NODE = '/// <reference types="node" />';

/**
 * Writes the declarations of `dist/`: a file for each public entry, with what users can import and what that is made of. One
 * for each source would show users what is internal, and wouldn't compile: what is marked `@internal` is missing from it.
 *
 * Of each class there is one declaration, since TypeScript takes two with private members for different classes. So what
 * `conclave/testing` and `conclave/node-cron` have in common with `conclave` they import from there.
 *
 * @param {ReadonlyMap<string, readonly string[]>} values - what each entry's JavaScript exports: anything else is a type
 * @param {{ checked: boolean }} options whether wrong types are an error
 */
export async function declare(values, { checked }) {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const options = [
    '--declaration',
    '--emitDeclarationOnly',
    '--outDir',
    SINGLE,
    ...(checked ? [] : ['--noCheck']),
  ];
  execFileSync(process.execPath, [compiler, '-p', join(ROOT, 'tsconfig.build.json'), ...options], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  try {
    await rollUp(values);
  } finally {
    rmSync(SINGLE, { recursive: true });
  }
}

/** @param {ReadonlyMap<string, readonly string[]>} values */
async function rollUp(values) {
  // Not before the dependencies are there: who imports this file may be about to install them.
  const { rollup } = await import('rollup');
  const { dts } = await import('rollup-plugin-dts');
  const roller = await rollup({
    input: Object.fromEntries(PUBLIC_ENTRIES.map((name) => [name, declarationOf(name)])),
    external: /^[^./]/,
    plugins: [dts(), valuesAndTypes(values)],
    treeshake: { moduleSideEffects: false },
    // What is marked `@internal` is still imported by what is internal itself, and goes with that.
    shimMissingExports: true,
    onwarn: (warning, handle) => {
      if (warning.code !== 'SHIMMED_EXPORT') handle(warning);
    },
  });
  try {
    /** @type {Set<string> | undefined} */
    let ofIndex;
    await roller.write({
      dir: BUILT,
      entryFileNames: '[name].d.ts',
      banner: NEEDS_NODE,
      minifyInternalExports: false,
      hoistTransitiveImports: false,
      manualChunks: (id, graph) => {
        ofIndex ??= importsOf(declarationOf(INDEX), graph).add(declarationOf(INDEX));
        return ofIndex.has(id) ? INDEX : null;
      },
    });
  } finally {
    await roller.close();
  }
}

/** @param {ReadonlyMap<string, readonly string[]>} values @returns {Plugin} */
function valuesAndTypes(values) {
  return {
    name: 'values and types',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue;
        // A chunk that no user imports by name would be a third place to look for a type.
        if (!file.isEntry)
          throw new Error(`${file.fileName} belongs to no entry: export what it declares from src/index.ts`);
        file.code = asTypes(file.code, new Set(values.get(file.name)));
      }
    },
  };
}

/** @param {string} name */
function declarationOf(name) {
  return join(SINGLE, `${name}.d.ts`);
}
