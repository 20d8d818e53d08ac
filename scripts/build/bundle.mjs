import { join } from 'node:path';
import { filesByUrl } from './files-by-url.mjs';
import { inlinedPackages, isExternal } from './inlined.mjs';
import { pagePlugin } from './page.mjs';
import { BUILT, importsOf, PUBLIC_ENTRIES, ROOT, sourceOf } from './sources.mjs';

/** @import { ChunkingContext, CodeSplittingGroup, Plugin, RolldownOutput } from 'rolldown' */

const INDEX = 'index';
/** Entries that must load fast. The modules that they share with `index` go into a separate file, so that they don't load the rest. */
const LIGHT = ['testing/index', 'cluster/run-command/keeper'];
/** The entry of worker threads that act in a term. It must be small, so what it shares with `index` is a file of its own. */
const OF_THREADS = 'held-term/index';
/** Files that users import, run or start by name. The other files of `dist/` contain the modules that several entries share. */
const ENTRIES = [...new Set([...PUBLIC_ENTRIES, ...LIGHT, 'cli/main'])];
/** Entries that run in a worker thread. The build puts their code into the file that starts the thread. */
const THREADS = ['election/watchdog/watchdog-thread', 'session/connection-thread/thread-main'];

/**
 * Writes the JavaScript of `dist/`. It writes few files, because an import takes most of its time to find, read and link each
 * module. Each module is in only one file, so that `instanceof` works across all entries.
 *
 * It uses the version of rolldown that vitest depends on, so that this adds no dependency.
 *
 * @returns {Promise<Map<string, readonly string[]>>} the exports of each entry
 */
export async function bundle() {
  /** @type {Map<string, string>} */
  const threads = new Map();
  for (const name of THREADS) {
    // Minified, because a URL takes three characters for each space, quote and bracket.
    const { output } = await bundled([name], [], (bundler) =>
      bundler.generate({ comments: false, minify: true }),
    );
    threads.set(name, output[0].code);
  }
  const plugins = [filesByUrl(ENTRIES, threads), pagePlugin(), inlinedPackages()];
  const { output } = await bundled(ENTRIES, plugins, (bundler) =>
    bundler.write({
      dir: BUILT,
      entryFileNames: '[name].js',
      chunkFileNames: '[name].js',
      codeSplitting: { groups: sharedFiles() },
      // Without comments, because Node reads these files at each start of a process.
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
    checks: { pluginTimings: false, bundlerTimings: false }, // How busy the machine is must not fail a build.
    onLog: (level, log, handle) => handle(level === 'warn' ? 'error' : level, log),
  });
  try {
    return await make(bundler);
  } finally {
    await bundler.close();
  }
}

/**
 * Decides which file has which of the modules that `index` imports. `held-term` has those of `conclave/held-term`, `base` those that a light
 * entry imports too, and `core` the rest. Modules that `index` doesn't import, but two other entries do, go into further files.
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
      debugName: 'held-term',
      name: (id, graph) =>
        isReachedFrom(INDEX, id, graph) && isReachedFrom(OF_THREADS, id, graph) ? 'held-term' : null,
      priority: 2,
    },
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
