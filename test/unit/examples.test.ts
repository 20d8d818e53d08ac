import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const EXAMPLES = join(import.meta.dirname, '../../examples');
/** Folders of this repository alone: the demo, and the code of the guides. */
const NOT_COPIED = ['demo', 'guides'];

/** What a file imports, and which files of its own it starts, by `new URL('./x.ts', import.meta.url)`. */
function specifiersOf(code: string): string[] {
  const imports = code.matchAll(/^(?:import|export)\b(?:[^'"();=]*\sfrom)?\s['"]([^'"]+)['"]/gm);
  const loaded = code.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g);
  const started = code.matchAll(/new URL\('([^']+)', import\.meta\.url\)/g);
  return [...imports, ...loaded, ...started].map(([, specifier = '']) => specifier);
}

/** The name of the package in `@scope/name/file` or `name/file`. */
const packageOf = (specifier: string) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? '';

const examples = readdirSync(EXAMPLES).filter((name) => !NOT_COPIED.includes(name));

describe.each(examples)('the example %s', (name) => {
  const folder = join(EXAMPLES, name);
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const files = readdirSync(folder).filter((file) => file !== 'README.md');
  const specifiers = files.flatMap((file) => specifiersOf(read(file)).map((each) => ({ file, each })));

  it('is TypeScript', () => {
    expect(files.filter((file) => !file.endsWith('.ts'))).toEqual([]);
  });

  it('imports its own files, conclave and packages alone, so that a copy of its folder runs', () => {
    const own = specifiers.filter(({ each }) => each.startsWith('.'));
    const missing = own.filter(
      ({ each }) =>
        !/^\.\/[\w-]+\.(?:js|ts)$/.test(each) || !existsSync(join(folder, each.replace(/js$/, 'ts'))),
    );
    expect(missing).toEqual([]);
    expect(specifiers.filter(({ each }) => packageOf(each) === 'conclave').length).toBeGreaterThan(0);
  });

  it('has its one command in its README, and no link that a copy would break', () => {
    const readme = read('README.md');
    const command = /^(?:\w+=\S+ )*npx tsx (?:--test )?([\w.]+)$/m;
    expect(files).toContain(command.exec(readme)?.[1]);
    const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
    expect(links.filter((target) => !target.startsWith('https://'))).toEqual([]);
  });

  it('is in the list of examples in docs/README.md', () => {
    const list = readFileSync(join(EXAMPLES, '../docs/README.md'), 'utf8');
    expect(list).toContain(`| [${name}](../examples/${name}) | `);
  });

  it('installs in its README what it imports', () => {
    const readme = read('README.md');
    const installed = [...readme.matchAll(/^npm install (.*)$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    const packages = specifiers
      .map(({ each }) => packageOf(each))
      .filter((each) => !/^(?:\.|node:)/.test(each));
    expect(installed).toContain('tsx');
    expect(packages.filter((each) => !installed.includes(each))).toEqual([]);
  });
});
