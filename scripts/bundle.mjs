import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

/** @import { ChunkingContext, CodeSplittingGroup, Plugin } from 'rolldown' */

const root = join(import.meta.dirname, '..');
const SOURCES = join(root, 'src');

const INDEX = 'index';
/** What is started only to do a little is not to load the rest: these have in a file of its own what they share with all. */
const LIGHT = ['testing/index', 'cluster/command/keeper'];
/** What is imported, run or started by the name of its file. Beside these there is only what several of them share. */
const ENTRIES = [INDEX, ...LIGHT, 'node-cron/index', 'cli/main'];
/** The same, but sharing nothing: what runs here meets no object of the others. */
const ALONE = ['election/watchdog-thread'];

/**
 * Writes the JavaScript of `dist/`: a few files, since most of an import's time goes into finding, reading and linking
 * each module. Of each module there is one copy, whichever entries import it, so that `instanceof` holds across them.
 *
 * By rolldown, at the version that vitest brings with it: a bundler to build with, and nothing more to install.
 */
export async function bundle() {
  await write(ENTRIES, sharedFiles());
  for (const entry of ALONE) await write([entry]);
}

/** @param {readonly string[]} entries @param {CodeSplittingGroup[]} [groups] */
async function write(entries, groups = []) {
  // Not before the dependencies are there: who imports this file may be about to install them.
  const { rolldown } = await import('rolldown');
  const bundler = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries.map((name) => [name, sourceOf(name)])),
    platform: 'node',
    tsconfig: join(root, 'tsconfig.build.json'),
    transform: { target: 'es2023' },
    external: /^[^./]/, // Dependencies, and Node's own.
    plugins: [filesByUrl(), packages()],
    onLog: (level, log, handle) => handle(level === 'warn' ? 'error' : level, log),
  });
  try {
    await bundler.write({
      dir: join(root, 'dist'),
      entryFileNames: '[name].js',
      chunkFileNames: '[name].js',
      codeSplitting: { groups },
      // What is read at each start of a process doesn't need them.
      comments: false,
      minifyInternalExports: false,
    });
  } finally {
    await bundler.close();
  }
}

/**
 * Of what `index` imports, `base` is what the light ones import too, and `core` the rest. What it doesn't import, but two
 * others do, goes into further files.
 *
 * @returns {CodeSplittingGroup[]}
 */
function sharedFiles() {
  /** @type {Map<string, Set<string>>} */
  const known = new Map();
  const isReachedFrom = (
    /** @type {string} */ entry,
    /** @type {string} */ id,
    /** @type {ChunkingContext} */ graph,
  ) => {
    if (!known.has(entry)) known.set(entry, importsOf(sourceOf(entry), graph));
    return known.get(entry)?.has(id) ?? false;
  };
  return [
    {
      debugName: 'base',
      name: (id, graph) =>
        isReachedFrom(INDEX, id, graph) && LIGHT.some((entry) => isReachedFrom(entry, id, graph))
          ? 'base'
          : null,
      priority: 1,
    },
    { debugName: 'core', name: (id, graph) => (isReachedFrom(INDEX, id, graph) ? 'core' : null) },
  ];
}

/** @param {string} start @param {ChunkingContext} graph all that it imports, and what that imports */
function importsOf(start, graph) {
  const reached = new Set([start]);
  // A set is walked with what is added to it on the way.
  for (const id of reached)
    for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) reached.add(imported);
  reached.delete(start);
  return reached;
}

/**
 * A source finds another file by `new URL('./file', import.meta.url)`. From which file of `dist/` that is asked is known
 * only when this is written: until then the name is the one below `dist/`.
 *
 * @returns {Plugin}
 */
function filesByUrl() {
  const outside = [join(root, 'package.json')];
  return {
    name: 'files by URL',
    transform: (code, id) =>
      code.replaceAll(/(?<=new URL\(')[^']+(?=', import\.meta\.url\))/g, (file) => {
        const path = resolve(dirname(id), file);
        const isThere =
          outside.includes(path) ||
          [...ENTRIES, ...ALONE].some((name) => path === join(SOURCES, `${name}.js`));
        if (!isThere) throw new Error(`${id} asks for ${file}, which the bundle won't have`);
        return `dist:${slashed(relative(SOURCES, path))}`;
      }),
    renderChunk: (code, { fileName }) =>
      code.replaceAll(/(?<=new URL\(")dist:([^"]+)/g, (_, path) =>
        slashed(relative(dirname(fileName), path)),
      ),
  };
}

/**
 * What loads dependencies that are CommonJS stays a file of its own, beside those that import it: within a module of
 * another kind it would have to be written so that nobody's bundler finds them.
 *
 * @returns {Plugin}
 */
function packages() {
  const name = 'packages.cjs';
  return {
    name: 'packages',
    resolveId: (id) => (id.endsWith(`/${name}`) ? { id: `./${name}`, external: true } : null),
    generateBundle(_, bundle) {
      const imports = Object.values(bundle).some(
        (file) => file.type === 'chunk' && file.imports.includes(`./${name}`),
      );
      if (imports)
        this.emitFile({ type: 'asset', fileName: name, source: readFileSync(join(SOURCES, name)) });
    },
  };
}

/** @param {string} name */
function sourceOf(name) {
  return join(SOURCES, `${name}.ts`);
}

/** @param {string} path */
function slashed(path) {
  return path.split(sep).join('/');
}
