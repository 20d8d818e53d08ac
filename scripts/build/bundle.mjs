import { join } from 'node:path';
import { filesByUrl } from './files-by-url.mjs';
import { inlinedPackages, isExternal } from './inlined.mjs';
import { pagePlugin } from './page.mjs';
import { BUILT, importsOf, PUBLIC_ENTRIES, ROOT, sourceOf } from './sources.mjs';

/** @import { ChunkingContext, CodeSplittingGroup, Plugin, RolldownOutput } from 'rolldown' */

const INDEX = 'index';
/** Entries that must load fast. What they share with `index` goes into a file of its own, so that they don't load the rest. */
const LIGHT = ['testing/index', 'cluster/command/keeper'];
/** Files that users import, run or start by name. The other files of `dist/` contain what several entries share. */
const ENTRIES = [...new Set([...PUBLIC_ENTRIES, ...LIGHT, 'cli/main'])];
/** Entries that run in a worker thread. Their code is inlined where the thread is started. */
const THREADS = ['election/watchdog/thread'];

/**
 * Writes the JavaScript of `dist/`: few files, because most of an import's time goes into finding, reading and linking each
 * module. Each module is in one file only, so that `instanceof` works across all entries.
 *
 * Uses the version of rolldown that vitest depends on, so that nothing more has to be installed.
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
  const plugins = [filesByUrl(ENTRIES, threads), pagePlugin(), inlinedPackages()];
  const { output } = await bundled(ENTRIES, plugins, (bundler) =>
    bundler.write({
      dir: BUILT,
      entryFileNames: '[name].js',
      chunkFileNames: '[name].js',
      codeSplitting: { groups: sharedFiles() },
      // Node reads these files at each start of a process.
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
  // Imported late: `prepare.mjs` imports this file before it has installed the dependencies.
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
 * Of what `index` imports, `base` has what the light entries import too, and `core` has the rest. Modules that `index`
 * doesn't import, but two other entries do, go into further files.
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
