/**
 * The site of this documentation. It is built from the files as they stand in the repository, so the same links work there and here.
 *
 *     npm run docs:build      writes docs/.vitepress/dist, and fails for a link to a page that doesn't exist
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
  srcExclude: ['**/node_modules/**', 'test/**', 'dist/**', 'coverage/**', 'bench/results/**'],
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, '$1index.md'),
  cleanUrls: true,
  markdown: {
    anchor: { slugify: slugOf },
    config: (markdown) => markdown.core.ruler.push('links', mendLinks),
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Quick start', link: '/#quick-start' },
      { text: 'API', link: '/docs/reference/api' },
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

/** As GitHub makes anchors of headings. @param {string} heading */
function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/**
 * Mends links that GitHub shows otherwise than a site: a folder becomes its README, and a file that is no page one in the
 * repository, or mere text where the package names no repository.
 *
 * @param {import('markdown-it').StateCore} state
 */
function mendLinks({ tokens, env }) {
  for (const { children } of tokens) {
    for (const token of children ?? []) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || /^(\w+:|#)/.test(href)) continue;
      const [target = '', anchor] = href.split('#');
      const path = join(dirname(env.path), decodeURI(target));
      if (!existsSync(path)) continue; // VitePress reports it.
      const suffix = anchor === undefined ? '' : `#${anchor}`;
      const folder = statSync(path).isDirectory() ? target : target.replace(/(^|\/)README\.md$/, '$1.');
      if (existsSync(join(dirname(env.path), folder, 'README.md')))
        token.attrSet('href', `${folder.replace(/\/?\.?$/, '')}/${suffix}`.replace(/^\//, './'));
      else if (!path.endsWith('.md')) token.attrSet('href', `${urlOf(repository)}/${relative(root, path)}`);
    }
  }
}

/** @param {undefined | string | { url: string }} given the field of package.json */
function urlOf(given) {
  const url = typeof given === 'string' ? given : given?.url;
  return url === undefined
    ? 'https://www.npmjs.com/package/conclave?activeTab=code#'
    : `${url.replace(/^git\+|\.git$/g, '')}/blob/main`;
}
