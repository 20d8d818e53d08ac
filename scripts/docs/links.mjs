import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ROOT } from '../build/sources.mjs';
import { readPage } from './pages.mjs';

/** @typedef {import('./pages.mjs').Page} Page */

const BRANCH = 'main';

/**
 * Finds broken links: to a missing file, to a heading that its page doesn't have, or to a malformed address. It doesn't open
 * addresses of other sites. For an address in the project's own repository it looks for the file in this folder.
 *
 * @param {readonly string[]} files - paths below the root
 * @param {{ root?: string }} [options] `root`: the folder below which it looks for the targets of relative links
 * @returns {string[]}
 */
export function brokenLinksIn(files, { root = ROOT } = {}) {
  const repository = repositoryUrl();
  /** @type {Map<string, Page>} */
  const pages = new Map();
  /** @param {string} file @param {string} folder */
  const pageOf = (file, folder) => {
    const path = join(folder, file);
    const page = pages.get(path) ?? readPage(file, folder);
    pages.set(path, page);
    return page;
  };
  return files.flatMap((file) =>
    pageOf(file, root).links.flatMap(({ line, target }) => {
      const why = whyBroken(file, target, { root, repository, pageOf });
      return why === undefined ? [] : [`${file}:${line}: ${target}: ${why}`];
    }),
  );
}

/**
 * @param {string} file
 * @param {string} target
 * @param {{ root: string, repository: string, pageOf: (file: string, folder: string) => Page }} context
 * @returns {string | undefined}
 */
function whyBroken(file, target, { root, repository, pageOf }) {
  const own = ownPath(target, repository);
  if (own === undefined && /^[a-z][a-z+.-]*:/i.test(target)) return whyMalformed(target);
  // The target of an absolute link needn't be in the package.
  const folder = own === undefined ? root : ROOT;
  const [path = '', anchor] = decodeURI(own ?? target).split('#');
  const found = own !== undefined ? path : path === '' ? file : posix.join(posix.dirname(file), path);
  if (found.startsWith('..') || !existsSync(join(folder, found))) return 'there is no such file';
  if (anchor === undefined || statSync(join(folder, found)).isDirectory()) return undefined;
  if (!found.endsWith('.md')) return undefined;
  return pageOf(found, folder).anchors.includes(anchor) ? undefined : 'there is no such heading';
}

/** @param {string} target */
function whyMalformed(target) {
  if (!URL.canParse(target)) return 'is no address';
  const { protocol, hostname } = new URL(target);
  const isRight = protocol === 'mailto:' || (protocol === 'https:' && hostname.includes('.'));
  return isRight ? undefined : 'expected an https address';
}

/** The path of a file that an address of the project's repository names. @param {string} target @param {string} repository */
function ownPath(target, repository) {
  for (const kind of ['blob', 'tree', 'raw'])
    if (target.startsWith(`${repository}/${kind}/${BRANCH}/`))
      return target.slice(`${repository}/${kind}/${BRANCH}/`.length);
  return undefined;
}

/** The project's address, from package.json. */
export function repositoryUrl() {
  const { repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
}
