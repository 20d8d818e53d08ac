import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ROOT } from '../build/sources.mjs';
import { readPage } from './pages.mjs';

/** @typedef {import('./pages.mjs').Page} Page */

/**
 * Finds broken links: to a missing file, to a heading that its page doesn't have, or to a malformed address. It doesn't open
 * addresses of other sites. A link to a file of the project has to be relative, so that it works in each copy and offline.
 *
 * @param {readonly string[]} files - paths below the root
 * @param {{ root?: string }} [options] `root`: the folder below which it looks for the targets of relative links
 * @returns {string[]}
 */
export function brokenLinksIn(files, { root = ROOT } = {}) {
  const repository = repositoryUrl();
  /** @type {Map<string, Page>} */
  const pages = new Map();
  /** @param {string} file */
  const pageOf = (file) => {
    const page = pages.get(file) ?? readPage(file, root);
    pages.set(file, page);
    return page;
  };
  return files.flatMap((file) =>
    pageOf(file).links.flatMap(({ line, target }) => {
      const why = whyBroken(file, target, { root, repository, pageOf });
      return why === undefined ? [] : [`${file}:${line}: ${target}: ${why}`];
    }),
  );
}

/**
 * @param {string} file
 * @param {string} target
 * @param {{ root: string, repository: string, pageOf: (file: string) => Page }} context
 * @returns {string | undefined}
 */
function whyBroken(file, target, { root, repository, pageOf }) {
  if (target.startsWith(`${repository}/blob/`) || target.startsWith(`${repository}/tree/`))
    return 'expected a relative link';
  if (/^[a-z][a-z+.-]*:/i.test(target)) return whyMalformed(target);
  const [path = '', anchor] = decodeURI(target).split('#');
  const found = path === '' ? file : posix.join(posix.dirname(file), path);
  if (found.startsWith('..') || !existsSync(join(root, found))) return 'there is no such file';
  if (anchor === undefined || !found.endsWith('.md')) return undefined;
  return pageOf(found).anchors.includes(anchor) ? undefined : 'there is no such heading';
}

/** @param {string} target */
function whyMalformed(target) {
  if (!URL.canParse(target)) return 'is no address';
  const { protocol, hostname } = new URL(target);
  const isRight = protocol === 'mailto:' || (protocol === 'https:' && hostname.includes('.'));
  return isRight ? undefined : 'expected an https address';
}

/** The project's address, from package.json. */
function repositoryUrl() {
  const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
}
