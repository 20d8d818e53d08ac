import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { MOST, pageOf, problemsWith, surfaceOf, tableOf } from './counts.mjs';
import { linesOfCode, problemsWithSizes, sizesTableOf } from './sizes.mjs';

const folder = temporaryFolder(afterAll);

const HELP = `Usage: it [options] [command]

Options:
  -h, --help       print this help

Commands:
  run [options]    run a command,
                   and more
  dashboard|ui     serve a page
  help [command]   print the help of a command

Environment:
  SERVERS          the servers
`;

function givenPackage() {
  mkdirSync(join(folder, 'dist/cli'), { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    '{ "type": "module", "exports": { ".": { "types": "./dist/a.d.ts" }, "./b": { "types": "./dist/b.d.ts" }, "./package.json": "./package.json" } }',
  );
  writeFileSync(
    join(folder, 'dist/a.d.ts'),
    'interface Inner { shared?: number }\n' +
      'export interface OneOptions extends Inner { own?: { nested: number } }\n' +
      'export interface TwoOptions extends Inner { own?: string }\n' +
      'export type ThreeOptions = { literal: 1 };\n' +
      'interface HiddenOptions { hidden: 1 }\n' +
      'export interface State { hidden: HiddenOptions }\n' +
      // Without it, a declaration file exports all that it declares.
      'export {};\n',
  );
  writeFileSync(
    join(folder, 'dist/b.d.ts'),
    "import type { OneOptions } from './a.js';\n" +
      "export type { State } from './a.js';\n" +
      'export interface MoreOptions extends OneOptions { more: 1 }\nexport declare const value: 1;\n',
  );
  writeFileSync(join(folder, 'dist/cli/main.js'), `console.log(${JSON.stringify(HELP)})`);
}

describe('counts', () => {
  givenPackage();
  const surface = surfaceOf(folder);

  it('counts an export once for each module that has it', () => {
    expect(surface.exports).toEqual([
      'conclave OneOptions',
      'conclave State',
      'conclave ThreeOptions',
      'conclave TwoOptions',
      'conclave/b MoreOptions',
      'conclave/b State',
      'conclave/b value',
    ]);
  });

  it('counts each property of an exported type that is named Options, inherited ones once', () => {
    expect(surface.options).toEqual([
      'Inner.shared',
      'MoreOptions.more',
      'OneOptions.own',
      'ThreeOptions.literal',
      'TwoOptions.own',
    ]);
  });

  it('counts the commands of the help, without their aliases and without help', () => {
    expect(surface.commands).toEqual(['run', 'dashboard']);
  });

  it('accepts the page of these names, and reports each other name', () => {
    expect(tableOf(surface)).toContain('| exports | 7 | 228 |\n| options | 5 | 140 |\n| commands | 2 | 10 |');
    expect(problemsWith(surface, pageOf(surface))).toEqual([]);
    const renamed = { ...surface, commands: ['run', 'serve'] };
    expect(problemsWith(renamed, pageOf(surface))).toEqual([
      'scripts/package/counts.md differs, write it by node scripts/counts.mjs --write:',
      '- dashboard',
      '+ serve',
    ]);
  });

  it('reports more names than there may be, on a page that is right as well', () => {
    const many = {
      ...surface,
      commands: Array.from({ length: MOST.commands + 1 }, (_, i) => `command-${i}`),
    };
    expect(problemsWith(many, pageOf(many))).toEqual(['11 commands: expected at most 10']);
  });
});

describe('sizes', () => {
  it('count lines of code without blank lines and comments', () => {
    expect(linesOfCode('/** What it\n * does. */\nconst a = 1; // one\n\n  // nothing\nconst b = 2;\n')).toBe(
      2,
    );
  });

  it('are printed with their limits, and reported above them', () => {
    const size = { what: 'lines', now: 11, most: 10, aim: 5 };
    expect(sizesTableOf([size])).toContain('| lines | 11 | 10 | 5 |');
    expect(problemsWithSizes([size])).toEqual(['11 lines: expected at most 10']);
    expect(problemsWithSizes([{ ...size, now: 10 }])).toEqual([]);
  });
});
