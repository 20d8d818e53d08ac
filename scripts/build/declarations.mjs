import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT, importsOf, PUBLIC_ENTRIES, ROOT } from './sources.mjs';
import { asTypes } from './type-exports.mjs';

/** @import { Plugin } from 'rollup' */

const INDEX = 'index';
/** `conclave` doesn't export the types of handles, and its terms give one. */
const HELD_TERM = 'held-term/index';
const HANDLES = 'lease/term-handle';
/** Types may be circular: `conclave/held-term` has its errors from `conclave`. */
const EXPECTED = ['SHIMMED_EXPORT', 'CIRCULAR_CHUNK'];
/** Temporarily has a declaration file for each source. Below node_modules these files would count as declarations of a dependency. */
const SINGLE = join(BUILT, 'declarations');
/** TypeScript 6 doesn't load the types of Node by itself. With this line it reports in one error that they are missing. */
const NEEDS_NODE = '/// <reference types="node" />';

/**
 * Writes the declarations of `dist/`: a file for each public entry, with its exports and the types that they use. Files for each
 * source would show internal modules. They also wouldn't compile, because declarations marked `@internal` would be missing.
 *
 * Each class is declared once, because TypeScript treats two declarations with private members as different classes. Therefore
 * the other entries import shared declarations from `conclave`; `conclave` imports the types of handles from `conclave/held-term`.
 *
 * @param {ReadonlyMap<string, readonly string[]>} values - the exports of each entry's JavaScript. All other exports are types
 * @param {{ checked: boolean }} options whether type errors fail the build
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
  // Imported late: `prepare.mjs` imports this file before it has installed the dependencies.
  const { rollup } = await import('rollup');
  const { dts } = await import('rollup-plugin-dts');
  const { takingUndefined } = await import('./option-types.mjs');
  const roller = await rollup({
    input: Object.fromEntries(PUBLIC_ENTRIES.map((name) => [name, declarationOf(name)])),
    external: /^[^./]/,
    plugins: [dts(), valuesAndTypes(values, takingUndefined)],
    treeshake: { moduleSideEffects: false },
    // Internal declarations still import declarations that are marked `@internal`. Both are removed.
    shimMissingExports: true,
    onwarn: (warning, handle) => {
      if (!EXPECTED.includes(warning.code ?? '')) handle(warning);
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
        if ([HELD_TERM, HANDLES].map(declarationOf).includes(id)) return HELD_TERM;
        ofIndex ??= importsOf(declarationOf(INDEX), graph).add(declarationOf(INDEX));
        return ofIndex.has(id) ? INDEX : null;
      },
    });
  } finally {
    await roller.close();
  }
}

/**
 * @param {ReadonlyMap<string, readonly string[]>} values
 * @param {(code: string) => string} takingUndefined
 * @returns {Plugin}
 */
function valuesAndTypes(values, takingUndefined) {
  return {
    name: 'values and types',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue;
        // Each declaration must belong to an entry, because users can't import a chunk by name.
        if (!file.isEntry)
          throw new Error(`${file.fileName} belongs to no entry: export what it declares from src/index.ts`);
        file.code = takingUndefined(asTypes(file.code, new Set(values.get(file.name))));
      }
    },
  };
}

/** @param {string} name */
function declarationOf(name) {
  return join(SINGLE, `${name}.d.ts`);
}
