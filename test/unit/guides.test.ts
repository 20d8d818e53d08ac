import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CLOSED } from '../../src/session/connection/connection-end.js';

const ROOT = join(import.meta.dirname, '../..');
const GUIDES = 'docs/guides';
/** Blocks that aren't code of a file. */
const WITHOUT_FILE = new Set(['mermaid', 'text', 'sh']);
/** Their blocks are short and show one call each: `scripts/docs/code.mjs` compiles them. Other languages are clients that `test/interop` runs. */
const OF_SHORT_BLOCKS = new Map([
  ['testing.md', ['ts']],
  ['interoperability.md', ['js', 'java', 'python']],
]);

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const pages = readdirSync(join(ROOT, GUIDES)).filter((name) => name.endsWith('.md'));
const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => read(join('src', name)));

interface Block {
  readonly page: string;
  readonly file: string | undefined;
  readonly language: string;
  readonly code: string;
}

/** The fenced blocks of a page, each with the file that the comment before it names. */
function blocksOf(page: string, text: string): Block[] {
  const fences = text.matchAll(/(?:^<!-- (\S+) -->\n)?^```(\w*)\n(.*?)^```$/gms);
  return [...fences].map(([, file, language = '', code = '']) => ({ page, file, language, code }));
}

const blocks = pages.flatMap((page) => blocksOf(page, read(join(GUIDES, page))));
const withFile = blocks.filter(({ file }) => file !== undefined) as (Block & { file: string })[];

describe('the guides', () => {
  it('name a file for each block of code', () => {
    const mayLack = ({ page, language }: Block) =>
      WITHOUT_FILE.has(language) || OF_SHORT_BLOCKS.get(page)?.includes(language) === true;
    const without = blocks.filter((block) => block.file === undefined && !mayLack(block));
    expect(withFile.length).toBeGreaterThan(10);
    expect(without).toEqual([]);
  });

  it.each(withFile.map((block) => [block.page, block.file, block.code] as const))(
    '%s has of %s what stands there, letter by letter',
    (_page, file, code) => {
      expect(file).toMatch(/^examples\//);
      expect(read(file)).toContain(code);
    },
  );

  it('are all in the list of guides', () => {
    const [, section = ''] = /^## Guides$(.*?)^## /ms.exec(read('docs/README.md')) ?? [];
    const linked = [...section.matchAll(/\]\(guides\/([\w-]+\.md)\)/g)].map(([, page]) => page);
    expect(linked.sort()).toEqual([...pages].sort());
  });

  it('quote the messages of the log as the sources have them', () => {
    const [, section = ''] =
      /^## Messages$(.*?)^## /ms.exec(read(join(GUIDES, 'questions-and-problems.md'))) ?? [];
    const messages = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, message]) => message as string);
    // A long message is a string of several lines, and one message begins with another one.
    const literals = sources.map((text) => text.replace(/' \+\s+'/g, '').replace(/\$\{CLOSED\}/g, CLOSED));
    const isLogged = (message: string) =>
      message.split('…').every((part) => literals.some((text) => text.includes(part.trim())));
    expect(messages.length).toBeGreaterThan(5);
    expect(messages.filter((message) => !isLogged(message))).toEqual([]);
  });
});

describe('the tables for those who come from elsewhere', () => {
  it('name classes and options of the command that there are', () => {
    // The last section says what was read of other libraries.
    const [tables = ''] = read(join(GUIDES, 'coming-from.md')).split(
      /^## How the README's table was checked$/m,
    );
    const rows = tables.match(/^\| .* \|$/gm) ?? [];
    const ours = rows.map((row) => row.split(' | ').at(-1) as string).join('\n');
    const words = [...ours.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => code.match(/[\w-]+/g) ?? []);
    const classes = words.filter((word) => /^[A-Z][a-z]\w+$/.test(word));
    const flags = words.filter((word) => word.startsWith('--') && word.length > 2);
    const entries = ['index', 'testing/index', 'base-errors', 'error-classes'];
    const exported = entries.map((entry) => read(`src/${entry}.ts`)).join('\n');
    expect(classes.length).toBeGreaterThan(10);
    expect(classes.filter((name) => !new RegExp(`\\b${name}\\b`).test(exported))).toEqual([]);
    expect(flags.length).toBeGreaterThan(2);
    expect(flags.filter((flag) => !sources.some((text) => text.includes(`'${flag}`)))).toEqual([]);
  });
});

it('the reasons that the page about problems explains are those of health(), but for what is left out', () => {
  const [, section = ''] =
    /^## Nothing happens$(.*?)^## /ms.exec(read(join(GUIDES, 'questions-and-problems.md'))) ?? [];
  const reasons = [...section.matchAll(/^\| `([a-z][^`()]*(?:\(…\)[^`]*)?)` \|/gm)].map(
    ([, reason]) => reason as string,
  );
  const health = read('src/cluster/supervisor/health.ts');
  const parts = reasons.flatMap((reason) => reason.split(/…|, /)).filter((part) => /\w/.test(part));
  expect(reasons.length).toBeGreaterThan(5);
  expect(parts.filter((part) => !health.includes(part.replace(/^\W+/, '').trim()))).toEqual([]);
});

/** The names of the states in the comment of a type: "- `idle`: …". */
function documentedStates(file: string): string[] {
  const [comment = ''] = /\/\*\*(?:(?!\*\/).)*?- `idle`.*?\*\//s.exec(read(file)) ?? [];
  const items = comment.match(/^ \* - .*?:/gm) ?? [];
  return items.flatMap((item) => [...item.matchAll(/`(\w+)`/g)].map(([, name]) => name as string));
}

/** The states of the diagram below a heading. */
function drawnStates(heading: string): string[] {
  const page = read('docs/reference/states-events-errors.md');
  const [, diagram = ''] =
    new RegExp(`^### ${heading}$.*?^\`\`\`mermaid$(.*?)^\`\`\``, 'ms').exec(page) ?? [];
  const edges = [...diagram.matchAll(/^ {2}(\S+) --> (\w+|\[\*\])/gm)];
  return [...new Set(edges.flatMap(([, from, to]) => [from as string, to as string]))].filter(
    (name) => name !== '[*]',
  );
}

describe('the diagrams', () => {
  it.each([
    ['States of an elector', 'src/election/elector-state.ts'],
    ['States of a supervisor', 'src/cluster/supervisor/supervisor-state.ts'],
  ])('have all %s, and no others', (heading, file) => {
    const documented = documentedStates(file);
    expect(documented.length).toBeGreaterThan(6);
    expect(drawnStates(heading).sort()).toEqual(documented.sort());
  });
});
