import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, SOURCES } from './sources.mjs';

export const PAGE = join(SOURCES, 'dashboard/page');
/** What `src/dashboard/page-html.ts` imports. No file of this name exists: a bundler's plugin makes it. */
export const PAGE_MODULE = 'conclave:page';
const RESOLVED = `\0${PAGE_MODULE}`;

/**
 * The dashboard's page as one document, with its style and its script in it, and its Content-Security-Policy. It has nothing to
 * load, so it works offline and below any path.
 *
 * @returns {Promise<{ html: string, csp: string, files: string[] }>} with the files that it was made of
 */
export async function buildPage() {
  // Imported late: `prepare.mjs` imports this file before it has installed the dependencies.
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { script: join(PAGE, 'main.tsx'), style: join(PAGE, 'styles/page.css') },
    outdir: 'page',
    tsconfig: join(PAGE, 'tsconfig.json'),
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    // The oldest browsers with `light-dark()`.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    charset: 'utf8',
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  const textOf = (/** @type {string} */ ending) =>
    outputFiles.find(({ path }) => path.endsWith(ending))?.text.trim() ?? '';
  const [script, style] = [textOf('.js'), textOf('.css')];
  // Either would end its element, or begin a comment in it, wherever it stands.
  for (const text of [script, style])
    if (/<\/(?:script|style)|<!--/i.test(text))
      throw new Error('the page would end in the middle of its script');
  const licence = readFileSync(join(ROOT, 'node_modules/preact/LICENSE'), 'utf8').trim();
  const html = documentOf({ script, style, licence });
  const sources = Object.keys(metafile.inputs).filter((path) => !path.startsWith('node_modules'));
  return {
    html,
    csp: policyOf(script, style),
    files: sources.map((path) => join(ROOT, path)),
  };
}

/** @param {{ script: string, style: string, licence: string }} parts */
function documentOf({ script, style, licence }) {
  return `<!doctype html>
<!--
The dashboard of Conclave. It contains Preact:

${licence}
-->
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Conclave</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page shows elections as they change, which takes JavaScript.</noscript>
<script type="module">${script}</script>
</body>
</html>
`;
}

/** @param {string} script @param {string} style */
function policyOf(script, style) {
  const hash = (/** @type {string} */ text) =>
    `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  return [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

/**
 * Makes the page where a source imports it. It works in vite, and so in vitest, and in rolldown: both build the page from
 * the sources that are there, so that there is no file that could be missing or out of date.
 */
export function pagePlugin() {
  return {
    name: 'page of the dashboard',
    resolveId: (/** @type {string} */ id) => (id === PAGE_MODULE ? RESOLVED : null),
    /** @this {{ addWatchFile(path: string): void }} @param {string} id */
    async load(id) {
      if (id !== RESOLVED) return null;
      const { html, csp, files } = await buildPage();
      for (const file of files) this.addWatchFile(file);
      return `export const html = ${JSON.stringify(html)};\nexport const csp = ${JSON.stringify(csp)};\n`;
    },
  };
}
