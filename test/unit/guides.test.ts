import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const GUIDES = 'docs/guides';
/** Blocks that aren't code of a file. */
const WITHOUT_FILE = new Set(['mermaid', 'text', 'sh']);

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
    const without = blocks.filter(({ file, language }) => file === undefined && !WITHOUT_FILE.has(language));
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
    const linked = [...read(join(GUIDES, 'README.md')).matchAll(/\]\(([\w-]+\.md)\)/g)].map(
      ([, page]) => page,
    );
    expect([...linked, 'README.md'].sort()).toEqual([...pages].sort());
  });

  it('quote the messages of the log as the sources have them', () => {
    const [, section = ''] = /^## Messages$(.*?)^## /ms.exec(read(join(GUIDES, 'troubleshooting.md'))) ?? [];
    const messages = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, message]) => message as string);
    // A long message is a string of several lines.
    const literals = sources.map((text) => text.replace(/' \+\s+'/g, ''));
    expect(messages.length).toBeGreaterThan(5);
    expect(messages.filter((message) => !literals.some((text) => text.includes(message)))).toEqual([]);
  });
});

/** The names of the states in the comment of a type: "- `idle`: …". */
function documentedStates(file: string): string[] {
  const [comment = ''] = /\/\*\*(?:(?!\*\/).)*?- `idle`.*?\*\//s.exec(read(file)) ?? [];
  const items = comment.match(/^ \* - .*?:/gm) ?? [];
  return items.flatMap((item) => [...item.matchAll(/`(\w+)`/g)].map(([, name]) => name as string));
}

/** The states of the diagram below a heading. */
function drawnStates(heading: string): string[] {
  const page = read(join(GUIDES, 'diagrams.md'));
  const [, diagram = ''] = new RegExp(`^## ${heading}$.*?^\`\`\`mermaid$(.*?)^\`\`\``, 'ms').exec(page) ?? [];
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
