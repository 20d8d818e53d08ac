import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withBuiltins } from '../../scripts/build/inlined.mjs';
import { asTypes } from '../../scripts/build/type-exports.mjs';
import { runChecks } from '../../scripts/package/checks.mjs';
import { exportedFrom, usingAll } from '../../scripts/package/exported.mjs';

describe('what a declaration file exports', () => {
  it('is a type, if there is nothing of that name at run time', () => {
    const code = 'declare class A {}\nexport { A, B as C, D };\nexport type { E };\n';
    expect(asTypes(code, new Set(['A', 'C']))).toBe(
      'declare class A {}\nexport { A, B as C };\nexport type { D };\nexport type { E };\n',
    );
    expect(asTypes('export { A };', new Set())).toBe('export type { A };');
    expect(asTypes('export { A };', new Set(['A']))).toBe('export { A };');
  });

  it('is used by a program in full: values as values, types as types, with what they are to be given', () => {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-exported-'));
    try {
      const file = join(folder, 'index.d.ts');
      writeFileSync(
        file,
        'declare class A {}\ndeclare class B {}\ninterface C<T, U> { t: T; u: U }\ndeclare const d: 1;\n' +
          'export { A, d as e };\nexport type { B, C };\n',
      );
      const exported = exportedFrom(file);
      expect(exported).toEqual([
        { name: 'A', isValue: true, parameters: 0 },
        { name: 'e', isValue: true, parameters: 0 },
        { name: 'B', isValue: false, parameters: 0 },
        { name: 'C', isValue: false, parameters: 2 },
      ]);
      expect(usingAll('it', exported)).toBe(
        [
          "import * as all from 'it';",
          '',
          'export const value0: typeof all.A = all.A;',
          'export const value1: typeof all.e = all.e;',
          'export type Type2 = all.B;',
          'export type Type3 = all.C<never, never>;',
          '',
        ].join('\n'),
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a dependency that is inlined', () => {
  it("gets what is Node's own by a call that no bundler looks into, and the rest as before", () => {
    const code = `var fs = require('fs'), b = require("node:net"), c = require('./own'), d = require('other');`;
    expect(withBuiltins(code)).toBe(
      `var fs = process.getBuiltinModule('fs'), b = process.getBuiltinModule('node:net'), c = require('./own'), d = require('other');`,
    );
  });
});

describe('the checks of the package', () => {
  it('are all run, each is told of, and those that failed are counted', async () => {
    const said: string[] = [];
    const failed = await runChecks(
      [
        { name: 'one', check: () => Promise.resolve() },
        { name: 'two', check: () => Promise.reject(new Error('this\nand that')) },
        { name: 'three', check: () => Promise.resolve('') },
      ],
      (line) => said.push(line.replace(/\d+ ms/, 'n ms')),
    );
    expect(failed).toBe(1);
    expect(said.slice(0, 3).sort()).toEqual(['✓ one (n ms)', '✓ three (n ms)', '✗ two (n ms)']);
    expect(said.slice(3)).toEqual(['\n✗ two\n    this\n    and that', '2 of 3 checks of the package passed']);
  });
});
