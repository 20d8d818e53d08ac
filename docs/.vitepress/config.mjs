/**
 * The site of this documentation. It is built from the files as they stand in the repository, so the same links work there and here.
 *
 *     npm run docs:build      writes docs/.vitepress/dist, and fails for a link to a page that doesn't exist; typedoc's pages, the API
 *                             reference, come to api/ there
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { defineConfig } from 'vitepress';

const root = join(import.meta.dirname, '../..');
const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

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

const pages = repository.url.replace(/^git\+|\.git$/g, '');
const files = pages.replace('github.com', 'raw.githubusercontent.com');

/**
 * Mends links that GitHub shows otherwise than a site. Addresses of the project's own files, which the README has for npm's page,
 * lead to the site's pages; a folder becomes its README; and a file that is no page one in the repository.
 *
 * @param {import('markdown-it').StateCore} state
 */
function mendLinks({ tokens, env }) {
  const folder = dirname(env.path);
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const name = token.type === 'link_open' ? 'href' : token.type === 'image' ? 'src' : undefined;
    const given = name === undefined ? null : token.attrGet(name);
    if (name === undefined || given === null) continue;
    const own = new RegExp(`^(?:${pages}/(?:blob|tree)|${files})/main/(.*)$`).exec(given)?.[1];
    const link = own === undefined ? given : `./${relative(folder, join(root, own))}`;
    if (/^(\w+:|#)/.test(link)) continue;
    token.attrSet(name, name === 'href' ? pageOf(link, folder) : link);
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
  return path.endsWith('.md') ? link : `${pages}/blob/main/${relative(root, path)}`;
}
