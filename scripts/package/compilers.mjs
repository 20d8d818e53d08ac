import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { copyConsumer, link } from './consumer.mjs';
import { entriesOf, exportedFrom, usingAll } from './exported.mjs';

const ROOT = join(import.meta.dirname, '../..');
/** TypeScript's message if the types of Node are missing. */
const MISSING_NODE = /error TS2688: Cannot find type definition file for 'node'/;
const PROGRAMS = join(import.meta.dirname, 'programs');
const COMPILE = join(import.meta.dirname, 'compile.mjs');
const run = promisify(execFile);
/** Only applications that have it import conclave/nestjs. */
const NEST = '@nestjs/common';

/** The oldest supported version, the last 5.x, and the version that compiles Conclave. */
const WITH_API = ['typescript-5.4', 'typescript-5.9', 'typescript'];
/** It has no JavaScript API, and is so quick that it checks the declarations of all packages. */
const NEWEST = 'typescript-7';
const RESOLUTIONS = [
  { module: 'NodeNext', moduleResolution: 'NodeNext' },
  { module: 'ESNext', moduleResolution: 'bundler' },
];
/** `node10` (also called `node`) ignores `exports`, and finds subpaths by `typesVersions`. TypeScript 7 doesn't have it any more. */
const NODE10 = { module: 'ESNext', moduleResolution: 'node10' };
/** All strict options. Declarations are checked, too. */
const STRICT = {
  target: 'ES2022',
  lib: ['ES2022', 'ESNext.Disposable'],
  noEmit: true,
  declaration: true,
  skipLibCheck: false,
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noPropertyAccessFromIndexSignature: true,
  noFallthroughCasesInSwitch: true,
  isolatedModules: true,
  verbatimModuleSyntax: true,
};

/** @typedef {Record<string, unknown> & { moduleResolution: string }} Resolution */
/** @typedef {{ compiler: string, resolutions: readonly Resolution[] }} Ways */
/** @typedef {import('./checks.mjs').Check} Check */

/**
 * Compiles typical programs, and programs that use all exports, with each compiler and each kind of module resolution. It compiles
 * them with node-cron, prom-client, kerberos, OpenTelemetry's API and Nest, and without these packages, because they are optional. Without the
 * types of Node the compilation must fail with a clear message.
 *
 * @param {string} installed - a user's folder in which Conclave is installed
 * @param {(name: string) => string} folderFor - makes an empty folder with that name
 * @returns {Check[]}
 */
export function compilations(installed, folderFor) {
  const uses = usesOf(installed);
  const consumer = (
    /** @type {string} */ name,
    /** @type {string[]} */ others,
    /** @type {string[]} */ programs,
  ) => {
    const folder = folderFor(name);
    copyConsumer(installed, folder);
    for (const other of others) link(folder, other);
    for (const program of programs) cpSync(join(PROGRAMS, program), join(folder, program));
    for (const [specifier, use] of uses)
      if (specifier !== 'conclave/nestjs' || others.includes(NEST))
        writeFileSync(join(folder, `all-of-${specifier.replaceAll('/', '-')}.mts`), use);
    return folder;
  };
  const peers = ['@types/node', 'kerberos', 'node-cron', 'prom-client', '@opentelemetry/api', NEST];
  const withPeers = consumer('with-peers', peers, ['typical.mts', 'jobs.mts', 'measured.mts', 'ticket.mts']);
  const withoutPeers = consumer('without-peers', ['@types/node'], ['typical.mts']);
  const withoutNode = consumer('without-types-of-node', [], []);
  const newest = { compiler: NEWEST, resolutions: RESOLUTIONS };
  const oldest = { compiler: /** @type {string} */ (WITH_API[0]), resolutions: RESOLUTIONS };
  const all = WITH_API.map((compiler) => ({
    compiler,
    // From version 6 on, TypeScript warns of `node10`.
    resolutions: [
      ...RESOLUTIONS,
      { ...NODE10, ...(compiler === 'typescript' ? { ignoreDeprecations: '6.0' } : {}) },
    ],
  }));
  const withoutTypes = { compiler: NEWEST, resolutions: RESOLUTIONS.slice(-1) };
  return [
    ...[...all, newest].map((ways) => ({
      name: `compiles with ${nameOf(ways)}, and with the optional packages`,
      check: () => compilesCleanly(withPeers, ways),
    })),
    ...[oldest, newest].map((ways) => ({
      name: `compiles with ${nameOf(ways)}, without the optional packages`,
      check: () => compilesCleanly(withoutPeers, ways),
    })),
    {
      name: `fails with ${nameOf(withoutTypes)} if the types of Node are missing, and says that they are`,
      check: async () => {
        const output = await compile(withoutNode, withoutTypes);
        if (!MISSING_NODE.test(output)) throw new Error(`expected ${MISSING_NODE}, got: ${output}`);
      },
    },
  ];
}

/** A program for each module that users can import. It uses all exports of the module's declarations. @param {string} folder */
function usesOf(folder) {
  return entriesOf(join(folder, 'node_modules/conclave')).map(
    ({ specifier, types }) => /** @type {const} */ ([specifier, usingAll(specifier, exportedFrom(types))]),
  );
}

/** @param {string} folder @param {Ways} ways */
async function compilesCleanly(folder, ways) {
  const output = await compile(folder, ways);
  if (output !== '') throw new Error(output);
}

/** @param {string} folder @param {Ways} ways @returns {Promise<string>} the compiler's messages, or `''` */
async function compile(folder, { compiler, resolutions }) {
  const configurations = resolutions.map((resolution) => {
    const config = join(folder, `${compiler}-${resolution.moduleResolution}.json`);
    writeFileSync(
      config,
      JSON.stringify({ compilerOptions: { ...STRICT, ...resolution }, include: ['*.mts'] }),
    );
    return config;
  });
  if (compiler !== NEWEST) return await outputOf([COMPILE, compiler, ...configurations]);
  const tsc = join(ROOT, 'node_modules', compiler, 'bin/tsc');
  let output = '';
  for (const config of configurations) output += await outputOf([tsc, '-p', config, '--pretty', 'false']);
  return output;
}

/** @param {string[]} args @returns {Promise<string>} */
async function outputOf(args) {
  try {
    return (await run(process.execPath, args)).stdout;
  } catch (error) {
    return /** @type {{ stdout: string }} */ (error).stdout || String(error);
  }
}

/** @param {Ways} ways */
function nameOf({ compiler, resolutions }) {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', compiler, 'package.json'), 'utf8'));
  return `TypeScript ${version}, ${resolutions.map(({ moduleResolution }) => moduleResolution).join(', ')}`;
}
