import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import GithubSlugger from 'github-slugger';
import MarkdownIt from 'markdown-it';
import { ROOT, slashed } from '../build/sources.mjs';

/** @typedef {import('markdown-it').Token} Token */
/** @typedef {{ line: number, target: string }} Link */
/**
 * `language` is `''` for an indented block.
 * @typedef {{ line: number, language: string, text: string, isPartOfFile?: true }} CodeBlock
 */
/** @typedef {{ line: number, text: string, code: string[] }} Prose - a paragraph, list item, heading or cell. In `text` a code span is one word */

/**
 * The parts of a Markdown file that the checks use.
 *
 * @typedef {object} Page
 * @property {string} file - the file's path below the root
 * @property {readonly string[]} anchors - the anchors of its headings, as GitHub names them
 * @property {readonly Link[]} links
 * @property {readonly CodeBlock[]} code
 * @property {readonly Prose[]} prose
 */

const markdown = new MarkdownIt({ html: true });
/** In the guides, such a comment before a block names the file that the block is a part of. */
const NAMES_A_FILE = /^<!-- examples\/\S+ -->$/m;
const FOLDERS = ['docs', 'src', 'scripts', 'examples', 'bench', 'tools', 'test', '.github', '.changeset'];
/** Pages that the tests of these checks read, with mistakes on purpose. */
const FIXTURES = 'scripts/docs/fixtures/';

/** The paths, below the root, of all of the project's Markdown files. */
export function markdownFiles(root = ROOT) {
  const inRoot = readdirSync(root).filter((file) => file.endsWith('.md'));
  const inFolders = FOLDERS.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md') && !file.includes('node_modules'))
      .map((file) => slashed(relative(root, join(root, folder, file)))),
  );
  return [...inRoot, ...inFolders].filter((file) => !file.startsWith(FIXTURES)).sort();
}

/** @param {string} file - its path below the root @param {string} [root] */
export function readPage(file, root = ROOT) {
  return parsePage(file, readFileSync(join(root, file), 'utf8'));
}

/** @param {string} file @param {string} text @returns {Page} */
export function parsePage(file, text) {
  const slugger = new GithubSlugger();
  const tokens = markdown.parse(text, {});
  /** @type {{ anchors: string[], links: Link[], code: CodeBlock[], prose: Prose[] }} */
  const page = { anchors: [], links: [], code: [], prose: [] };
  let line = 1;
  tokens.forEach((token, index) => {
    line = (token.map?.[0] ?? line - 1) + 1;
    if (token.type === 'fence' || token.type === 'code_block')
      page.code.push({
        line,
        language: token.info.trim(),
        text: token.content,
        ...(NAMES_A_FILE.test(tokens[index - 1]?.content ?? '') && { isPartOfFile: true }),
      });
    if (token.type !== 'inline') return;
    const children = token.children ?? [];
    let lineOfChild = line;
    for (const child of children) {
      if (child.type === 'softbreak' || child.type === 'hardbreak') lineOfChild++;
      const target = child.attrGet('href') ?? child.attrGet('src');
      if (target !== null) page.links.push({ line: lineOfChild, target: String(target) });
    }
    const words = children.map(proseOf).join('');
    page.prose.push({ line, text: words.replace(/\s+/g, ' ').trim(), code: children.flatMap(codeOf) });
    if (tokens[index - 1]?.type === 'heading_open') page.anchors.push(slugger.slug(headingOf(children)));
  });
  return { file, ...page };
}

/** @param {Token} token */
function proseOf({ type, content }) {
  if (type === 'code_inline') return 'Code';
  if (type === 'softbreak' || type === 'hardbreak') return ' ';
  return type === 'text' ? content : '';
}

/** @param {Token} token */
function codeOf({ type, content }) {
  return type === 'code_inline' ? [content] : [];
}

/** @param {readonly Token[]} children */
function headingOf(children) {
  return children
    .map(({ type, content }) => (type === 'text' || type === 'code_inline' ? content : ''))
    .join('');
}
