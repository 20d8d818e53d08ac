import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT, SOURCES } from './sources.mjs';

export const PAGE = join(SOURCES, 'dashboard/page');
/** The module that `src/dashboard/page-html.ts` imports. No file has this name: a bundler's plugin makes the module. */
export const PAGE_MODULE = 'conclave:page';
const RESOLVED = `\0${PAGE_MODULE}`;

/**
 * Builds the dashboard's page as one document that contains its style and its script, and the page's Content-Security-Policy. The
 * page loads no other file, so it works offline and below any path.
 *
 * @returns {Promise<{ html: string, csp: string, files: string[] }>} with the files that the page was built from
 */
export async function buildPage() {
  const [{ script, sources }, style] = [await bundledScript(), styleOf(join(PAGE, 'styles/page.css'))];
  // Wherever such a text stands in the script or the style, it would end the element, or begin a comment in it.
  for (const text of [script, style.text])
    if (/<\/(?:script|style)|<!--/i.test(text))
      throw new Error('the page would end in the middle of its script');
  const licence = readFileSync(join(ROOT, 'node_modules/preact/LICENSE'), 'utf8').trim();
  const html = documentOf({ script, style: style.text, licence });
  return { html, csp: policyOf(script, style.text), files: [...sources, ...style.files] };
}

/** @returns {Promise<{ script: string, sources: string[] }>} */
async function bundledScript() {
  // Imported late: `prepare.mjs` imports this file before it has installed the dependencies.
  const { build } = await import('rolldown');
  const { output } = await build({
    cwd: ROOT,
    input: join(PAGE, 'main.tsx'),
    platform: 'browser',
    tsconfig: join(PAGE, 'tsconfig.json'),
    transform: {
      // The oldest browsers with `light-dark()`.
      target: ['chrome123', 'firefox120', 'safari17.5'],
      define: { 'process.env.NODE_ENV': '"production"' },
    },
    checks: { pluginTimings: false, bundlerTimings: false }, // How busy the machine is must not fail a build.
    write: false,
    output: { format: 'esm', minify: true, comments: false, codeSplitting: false },
  });
  const [{ code, moduleIds }] = output;
  const sources = moduleIds.filter((id) => id.startsWith(PAGE));
  return { script: code.trim(), sources };
}

/**
 * The style sheets that `path` imports, in one text without comments and indentation. It doesn't need a bundler: the page's style
 * sheets import each other only from `page.css`, and use nothing that the oldest browsers above don't know.
 *
 * @param {string} path
 * @returns {{ text: string, files: string[] }}
 */
function styleOf(path) {
  const files = [...readFileSync(path, 'utf8').matchAll(/^@import "([^"]+)";$/gm)].map(([, file = '']) =>
    join(dirname(path), file),
  );
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  return {
    text: text
      .replaceAll(/\/\*.*?\*\//gs, '')
      .replaceAll(/\s*\n\s*/g, '\n')
      .trim(),
    files: [path, ...files],
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
 * Builds the page when a source imports it. The plugin works in rolldown and in vite, and therefore in vitest. Both build the page
 * from the current sources, so no built file can be missing or out of date.
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
