/**
 * The site of this documentation. It is built from the files as they stand in the repository, so the same links work there and here.
 *
 *     npm run docs:build      writes docs/.vitepress/dist, and fails for a link to a page that doesn't exist; typedoc's pages, the API
 *                             reference, come to api/ there
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { defineConfig } from 'vitepress';

const root = join(import.meta.dirname, '../..');

/** The files and folders, from the root, that pages link to and that aren't pages. The site has them as text. */
const shown = new Set();

export default defineConfig({
  title: 'Conclave',
  description: 'Leader election for Node.js on Apache ZooKeeper',
  srcDir: '..',
  srcExclude: [
    '**/node_modules/**',
    'test/fixtures/**',
    'scripts/docs/fixtures/**',
    'dist*/**',
    'coverage/**',
    'bench/last-run/**',
    '.*/**',
  ],
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, '$1index.md'),
  cleanUrls: true,
  buildEnd: ({ outDir }) => {
    for (const path of shown) {
      const file = join(outDir, textOf(path));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, contentOf(path));
    }
  },
  // Mermaid's largest parts have 700 kB. Only pages with a diagram load them, and of the parts only those that they need.
  vite: { build: { chunkSizeWarningLimit: 1_000 } },
  markdown: {
    anchor: { slugify: slugOf },
    config: (markdown) => {
      markdown.core.ruler.push('links', mendLinks);
      const { fence } = markdown.renderer.rules;
      markdown.renderer.rules.fence = (tokens, index, ...rest) =>
        diagramOf(tokens[index]) ?? fence?.(tokens, index, ...rest) ?? '';
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Quick start', link: '/#quick-start' },
      { text: 'API by example', link: '/docs/reference/api' },
      // The pages of typedoc, beside VitePress's: with a target, VitePress's router leaves the link to the browser.
      { text: 'API reference', link: '/api/', target: '_self' },
      { text: 'All pages', link: '/docs/' },
    ],
    sidebar: sidebarOf(readFileSync(join(root, 'docs/README.md'), 'utf8')),
  },
});

/** The headings and links of the index, so that there is one order of the pages. @param {string} index */
function sidebarOf(index) {
  return index
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [text = '', ...lines] = part.split('\n');
      const links = lines.flatMap((line) => [...line.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)]);
      const items = links.map(([, name = '', target = '']) => ({
        text: name,
        link: `/${join('docs', target).replace(/(README)?\.md/, '')}`,
      }));
      return { text, collapsed: text === 'Internals' || text === 'Examples', items };
    });
}

/** What the theme draws a diagram from, if a block of code is one. @param {import('markdown-it').Token | undefined} block */
function diagramOf(block) {
  if (block?.info.trim() !== 'mermaid') return undefined;
  // Encoded, so that Vue's compiler takes nothing in it for markup.
  return `<MermaidDiagram source="${encodeURIComponent(block.content)}" />\n`;
}

/** As GitHub makes anchors of headings. @param {string} heading */
function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/**
 * Mends links that a repository shows otherwise than a site: a folder becomes its README, and a file that isn't a page becomes its text.
 *
 * @param {import('markdown-it').StateCore} state
 */
function mendLinks({ tokens, env }) {
  const folder = dirname(env.path);
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const link = token.type === 'link_open' ? token.attrGet('href') : null;
    if (link !== null && !/^(\w+:|#)/.test(link)) token.attrSet('href', pageOf(link, folder));
  }
}

/** Where a link of a page in a folder leads to on the site. @param {string} link @param {string} folder */
function pageOf(link, folder) {
  const [target = '', anchor] = link.split('#');
  const path = join(folder, decodeURI(target));
  if (!existsSync(path)) return link; // VitePress reports it.
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  const isFolder = statSync(path).isDirectory() && existsSync(join(path, 'README.md'));
  if (isFolder) return `${target.replace(/\/$/, '')}/${suffix}`;
  if (path.endsWith('/README.md')) return `${target.replace(/README\.md$/, '')}${suffix}`;
  if (path.endsWith('.md')) return link;
  const shownPath = relative(root, path);
  shown.add(shownPath);
  return textOf(shownPath);
}

/** Where the site has the text of a file, or of all files of a folder. @param {string} path - from the root */
function textOf(path) {
  return `/files/${path}.txt`;
}

/** @param {string} path - from the root */
function contentOf(path) {
  const full = join(root, path);
  if (!statSync(full).isDirectory()) return readFileSync(full);
  return readdirSync(full, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .map((file) => `==> ${relative(root, file)} <==\n\n${readFileSync(file, 'utf8')}`)
    .join('\n');
}
