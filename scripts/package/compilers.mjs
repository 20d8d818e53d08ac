import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { copyConsumer, link } from './consumer.mjs';
import { exportedFrom, usingAll } from './exported.mjs';

const ROOT = join(import.meta.dirname, '../..');
/** TypeScript's message if the types of Node are missing. */
const MISSING_NODE = /error TS2688: Cannot find type definition file for 'node'/;
const PROGRAMS = join(import.meta.dirname, 'programs');
const run = promisify(execFile);
/** Only applications that have it import conclave/nestjs. */
const NEST = '@nestjs/common';

/** The oldest supported version, the last 5.x, the version that compiles Conclave, and the newest version. */
const COMPILERS = ['typescript-5.4', 'typescript-5.9', 'typescript', 'typescript-7'];
const RESOLUTIONS = [
  { module: 'NodeNext', moduleResolution: 'NodeNext' },
  { module: 'ESNext', moduleResolution: 'bundler' },
];
/** `node10` (also called `node`) ignores `exports`, and finds subpaths by `typesVersions`. TypeScript 7 doesn't have it any more. */
const NODE10 = { module: 'ESNext', moduleResolution: 'node10' };
const COMPILERS_WITH_NODE10 = COMPILERS.filter((name) => name !== 'typescript-7');
/** All strict options. The compiler checks the packages' declarations, too. */
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

/** @typedef {{ compiler: string, resolution: Record<string, unknown> & { moduleResolution: string } }} Way */
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
  const consumer = (
    /** @type {string} */ name,
    /** @type {string[]} */ others,
    /** @type {string[]} */ programs,
  ) => {
    const folder = folderFor(name);
    copyConsumer(installed, folder);
    for (const other of others) link(folder, other);
    for (const program of programs) cpSync(join(PROGRAMS, program), join(folder, program));
    writeUses(folder);
    return folder;
  };
  const peers = ['@types/node', 'kerberos', 'node-cron', 'prom-client', '@opentelemetry/api', NEST];
  const withPeers = consumer('with-peers', peers, ['typical.mts', 'jobs.mts', 'measured.mts', 'ticket.mts']);
  const withoutPeers = consumer('without-peers', ['@types/node'], ['typical.mts']);
  const withoutNode = consumer('without-types-of-node', [], []);
  const ways = COMPILERS.flatMap((compiler) => RESOLUTIONS.map((resolution) => ({ compiler, resolution })));
  const node10 = COMPILERS_WITH_NODE10.map((compiler) => ({
    compiler,
    // From version 6 on, TypeScript warns of `node10`.
    resolution: { ...NODE10, ...(compiler === 'typescript' ? { ignoreDeprecations: '6.0' } : {}) },
  }));
  const ends = ways.filter(({ compiler }) => [COMPILERS.at(0), COMPILERS.at(-1)].includes(compiler));
  return [
    ...[...ways, ...node10].map((way) => ({
      name: `compiles with ${nameOf(way)}, and with the optional packages`,
      check: () => compilesCleanly(withPeers, way),
    })),
    ...ends.map((way) => ({
      name: `compiles with ${nameOf(way)}, without the optional packages`,
      check: () => compilesCleanly(withoutPeers, way),
    })),
    ...ends.slice(-1).map((way) => ({
      name: `fails with ${nameOf(way)} if the types of Node are missing, and says that they are`,
      check: async () => {
        const output = await compile(withoutNode, way);
        if (!MISSING_NODE.test(output)) throw new Error(`expected ${MISSING_NODE}, got: ${output}`);
      },
    })),
  ];
}

/** The modules that users can import, by the installed package.json, with their declarations. @param {string} folder */
function entriesOf(folder) {
  const { exports } = JSON.parse(readFileSync(join(folder, 'node_modules/conclave/package.json'), 'utf8'));
  return Object.entries(exports).flatMap(([subpath, { types }]) =>
    types === undefined ? [] : [{ specifier: join('conclave', subpath), types }],
  );
}

/** Writes a program for each module that users can import. The program uses all exports of the module's declarations. @param {string} folder */
function writeUses(folder) {
  const hasNest = existsSync(join(folder, 'node_modules', NEST));
  for (const { specifier, types } of entriesOf(folder)) {
    if (specifier === 'conclave/nestjs' && !hasNest) continue;
    const used = usingAll(specifier, exportedFrom(join(folder, 'node_modules/conclave', types)));
    writeFileSync(join(folder, `all-of-${specifier.replaceAll('/', '-')}.mts`), used);
  }
}

/** @param {string} folder @param {Way} way */
async function compilesCleanly(folder, way) {
  const output = await compile(folder, way);
  if (output !== '') throw new Error(output);
}

/** @param {string} folder @param {Way} way @returns {Promise<string>} the compiler's messages, or `''` */
async function compile(folder, { compiler, resolution }) {
  const config = join(folder, `${compiler}-${resolution.moduleResolution}.json`);
  writeFileSync(
    config,
    JSON.stringify({ compilerOptions: { ...STRICT, ...resolution }, include: ['*.mts'] }),
  );
  const tsc = join(ROOT, 'node_modules', compiler, 'bin/tsc');
  try {
    return (await run(process.execPath, [tsc, '-p', config, '--pretty', 'false'])).stdout;
  } catch (error) {
    return /** @type {{ stdout: string }} */ (error).stdout || String(error);
  }
}

/** @param {Way} way */
function nameOf({ compiler, resolution }) {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', compiler, 'package.json'), 'utf8'));
  return `TypeScript ${version}, ${resolution.moduleResolution}`;
}
