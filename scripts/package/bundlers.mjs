import { join } from 'node:path';
import { refuse } from './checks.mjs';

/**
 * @typedef {object} Bundler
 * @property {string} name
 * @property {'mjs' | 'cjs'} ending - the extension for the kind of module that the bundler writes
 * @property {(input: string, output: string) => Promise<unknown>} bundle - rejects also if the bundler prints a warning
 */

/** @param {string} format @param {'mjs' | 'cjs'} ending @returns {Bundler} */
const esbuild = (format, ending) => ({
  name: `esbuild, ${format}`,
  ending,
  async bundle(input, output) {
    const { build } = await import('esbuild');
    const { warnings } = await build({
      entryPoints: [input],
      outfile: output,
      bundle: true,
      minify: true,
      platform: 'node',
      format: /** @type {'esm' | 'cjs'} */ (format),
      logLevel: 'silent',
    });
    refuse(warnings.map(({ text }) => text));
  },
});

/** @type {Bundler} */
const rollup = {
  name: 'rollup, esm',
  ending: 'mjs',
  async bundle(input, output) {
    const { rollup } = await import('rollup');
    const { nodeResolve } = await import('@rollup/plugin-node-resolve');
    /** @type {string[]} */
    const warnings = [];
    const bundle = await rollup({
      input,
      external: /^node:/,
      plugins: [nodeResolve({ exportConditions: ['node'], preferBuiltins: true })],
      onwarn: ({ message }) => void warnings.push(message),
    });
    await bundle.write({ file: output, format: 'es' });
    await bundle.close();
    refuse(warnings);
  },
};

/** @type {Bundler} */
const rolldown = {
  name: 'rolldown, esm',
  ending: 'mjs',
  async bundle(input, output) {
    const { build } = await import('rolldown');
    /** @type {string[]} */
    const warnings = [];
    await build({
      input,
      platform: 'node',
      output: { file: output, minify: true },
      onLog: (_, { message }) => void warnings.push(message),
    });
    refuse(warnings);
  },
};

/** @type {Bundler} */
const webpack = {
  name: 'webpack, commonjs',
  ending: 'cjs',
  async bundle(input, output) {
    const { default: webpack } = await import('webpack');
    const stats = await new Promise((resolve, reject) =>
      webpack(
        {
          entry: input,
          output: {
            path: join(output, '..'),
            filename: /** @type {string} */ (output.split(/[\\/]/).at(-1)),
          },
          mode: 'production',
          target: 'node20',
          performance: false,
        },
        (error, result) => (error ? reject(error) : resolve(result)),
      ),
    );
    const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
    refuse([...errors, ...warnings].map(({ message }) => message));
  },
};

/** @type {readonly Bundler[]} */
export const BUNDLERS = [esbuild('esm', 'mjs'), esbuild('cjs', 'cjs'), rollup, rolldown, webpack];
