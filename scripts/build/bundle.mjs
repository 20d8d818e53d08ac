import { join } from 'node:path';
import { filesByUrl } from './files-by-url.mjs';
import { inlinedPackages, isExternal } from './inlined.mjs';
import { BUILT, importsOf, PUBLIC_ENTRIES, ROOT, sourceOf } from './sources.mjs';

/** @import { ChunkingContext, CodeSplittingGroup, Plugin, RolldownOutput } from 'rolldown' */

const INDEX = 'index';
/** What is started only to do a little is not to load the rest: these have in a file of its own what they share with all. */
const LIGHT = ['testing/index', 'cluster/command/keeper'];
/** What is imported, run or started by the name of its file. Beside these there is only what several of them share. */
const ENTRIES = [...new Set([...PUBLIC_ENTRIES, ...LIGHT, 'cli/main'])];
/** What runs in a thread of its own, and meets no object of the others. Their code goes where the thread is started. */
const THREADS = ['election/watchdog/thread'];

/**
 * Writes the JavaScript of `dist/`: a few files, since most of an import's time goes into finding, reading and linking
 * each module. Of each module there is one copy, whichever entries import it, so that `instanceof` holds across them.
 *
 * By rolldown, at the version that vitest brings with it: a bundler to build with, and nothing more to install.
 *
 * @returns {Promise<Map<string, readonly string[]>>} what each entry exports
 */
export async function bundle() {
  /** @type {Map<string, string>} */
  const threads = new Map();
  for (const name of THREADS) {
    const { output } = await bundled([name], [], (bundler) => bundler.generate({ comments: false }));
    threads.set(name, output[0].code);
  }
  const plugins = [filesByUrl(ENTRIES, threads), inlinedPackages()];
  const { output } = await bundled(ENTRIES, plugins, (bundler) =>
    bundler.write({
      dir: BUILT,
      entryFileNames: '[name].js',
      chunkFileNames: '[name].js',
      codeSplitting: { groups: sharedFiles() },
      // What is read at each start of a process doesn't need them.
      comments: false,
      minifyInternalExports: false,
    }),
  );
  return new Map(
    output.flatMap((file) => (file.type === 'chunk' && file.isEntry ? [[file.name, file.exports]] : [])),
  );
}

/**
 * @param {readonly string[]} entries
 * @param {Plugin[]} plugins
 * @param {(bundler: import('rolldown').RolldownBuild) => Promise<RolldownOutput>} make
 */
async function bundled(entries, plugins, make) {
  // Not before the dependencies are there: who imports this file may be about to install them.
  const { rolldown } = await import('rolldown');
  const bundler = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(entries.map((name) => [name, sourceOf(name)])),
    platform: 'node',
    tsconfig: join(ROOT, 'tsconfig.build.json'),
    transform: { target: 'es2023' },
    external: isExternal,
    plugins,
    onLog: (level, log, handle) => handle(level === 'warn' ? 'error' : level, log),
  });
  try {
    return await make(bundler);
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
