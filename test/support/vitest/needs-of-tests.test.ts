import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { globSync } from 'tinyglobby';
import { describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { inputsOf } from '../../../scripts/recorded/inputs.mjs';
import { FILES, PLAIN } from './groups.mjs';

const ROOT = join(import.meta.dirname, '../../..');
const SETS = 'tools/dependencies';
const INSTALLS = 'tools/debian/packages.mjs';
const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));

/** The sets of dependencies that a script of package.json prepares. */
const setsOf = (script: string) => script.split(' ').filter((word) => /^[a-z]/.test(word) && word !== 'node');

const others = Object.entries(FILES).flatMap(([name, files]) =>
  PLAIN.some((plain) => plain === name) ? [] : files,
);
/** The tests of this folder name files of all groups. */
const ignore = [...others, 'test/support/vitest/*.test.ts'];
const { files, packages } = inputsOf(ROOT, globSync(['test/**/*.test.ts'], { cwd: ROOT, ignore }));

describe('npm test', () => {
  it('installs each package that its tests import', () => {
    const sets = setsOf(packageJson.scripts.pretest).filter((word) => !word.includes('/'));
    const installed = new Set(
      ['package.json', ...sets.map((set) => `${SETS}/${set}/package.json`)]
        .map(read)
        .flatMap(({ dependencies, devDependencies }) => Object.keys({ ...dependencies, ...devDependencies })),
    );
    // Its module is replaced in tests.
    const missing = [...packages.keys()].filter((name) => !installed.has(name) && name !== 'kerberos');
    expect(missing).toEqual([]);
  });

  it('needs no program but ZooKeeper that is to be installed', () => {
    const installers = [...files]
      .filter(([, code]) => code.includes('/debian/packages.mjs'))
      .map(([file]) => file);
    expect(files.has(INSTALLS)).toBe(true);
    expect(installers).toEqual(['tools/zookeeper/installation.mjs']);
  });
});
