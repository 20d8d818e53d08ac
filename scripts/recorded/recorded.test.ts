import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { digestOf, inputsOf } from './inputs.mjs';
import { record, successOf } from './records.mjs';

let root: string;

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

const lock = (version: string) =>
  write('package-lock.json', JSON.stringify({ packages: { 'node_modules/vitest': { version } } }));

beforeEach(() => {
  root = temporaryFolder();
  lock('1.0.0');
  write(
    'test/a.test.ts',
    "import { it } from 'vitest';\nimport { one } from '../src/one.js';\nimport 'conclave/jobs';\n" +
      "const PROGRAM = join(import.meta.dirname, 'program.mjs');\nconst BUILT = 'dist/cli/main.js';\nit('is', () => one);\n",
  );
  write('src/one.ts', "// What it is.\nimport type { Type } from './type.js';\nexport const one = 1;\n");
  write('src/type.ts', 'export type Type = 1;\n');
  write('src/jobs/index.ts', "export const two = await import('../late.js');\n");
  write('src/late.ts', 'export const late = 1;\n');
  write('src/cli/main.ts', 'export {};\n');
  write('src/unused.ts', 'export {};\n');
  write('test/program.mjs', "fork('./thread.js');\n");
  write('test/thread.ts', 'export {};\n');
});

const PATTERNS = ['test/*.test.ts'];
const digest = () => digestOf(root, PATTERNS);

describe('the inputs of tests', () => {
  it('are what they import and start, and what that imports and starts, but for types', () => {
    const { files, packages } = inputsOf(root, PATTERNS);
    expect([...files.keys()].sort()).toEqual([
      'src/cli/main.ts',
      'src/jobs/index.ts',
      'src/late.ts',
      'src/one.ts',
      'test/a.test.ts',
      'test/program.mjs',
      'test/thread.ts',
    ]);
    expect([...packages]).toEqual([['vitest', '1.0.0']]);
  });

  it('have another digest after a change of a file, or of the version of a package', () => {
    const before = digest();
    write('src/late.ts', 'export const late = 2;\n');
    const changed = digest();
    expect(changed).not.toBe(before);
    lock('1.0.1');
    expect(digest()).not.toBe(changed);
  });

  it('leave out the files of a folder that they are apart from, and what only these import', () => {
    write(
      'src/jobs/index.ts',
      "export const two = await import('../late.js');\nexport * from '../one.js';\n",
    );
    const files = [...inputsOf(root, PATTERNS, ['src/jobs/']).files.keys()];
    expect(files).not.toContain('src/jobs/index.ts');
    expect(files).not.toContain('src/late.ts');
    expect(files).toContain('src/one.ts');
  });

  it('are pages only where a pattern names pages, and declarations with their types', () => {
    write('docs/page.md', 'A page.\n');
    write('docs/node_modules/other/page.md', 'Of a package.\n');
    write('docs/index.d.ts', 'export type One = 1;\n');
    expect([...inputsOf(root, ['docs/**']).files]).toEqual([['docs/index.d.ts', 'export type One = 1;\n']]);
    expect([...inputsOf(root, ['docs/**/*.md']).files.keys()]).toEqual(['docs/page.md']);
  });

  it('have the same digest after a change of a comment, a line break, or another file', () => {
    const before = digest();
    write('src/one.ts', '// What else.\nexport const one =\n  1;\n');
    write('src/unused.ts', 'export const used = 0;\n');
    expect(digest()).toBe(before);
  });
});

describe('a success', () => {
  it('counts for the inputs that it was recorded with, and for no others', () => {
    expect(successOf(root, 'chaos', 'a')).toBeUndefined();
    record(root, 'chaos', 'a');
    record(root, 'model', 'b');
    expect(successOf(root, 'chaos', 'a')).toMatchObject({ inputs: 'a', commit: 'no commit' });
    expect(successOf(root, 'chaos', 'b')).toBeUndefined();
    record(root, 'chaos', 'c');
    expect(successOf(root, 'chaos', 'a')).toBeUndefined();
    expect(successOf(root, 'model', 'b')).toBeDefined();
  });
});
