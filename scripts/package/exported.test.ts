import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { exportedFrom, usingAll } from './exported.mjs';

it('what a declaration file exports is used by a program in full: values as values, types as types, with what they are to be given', () => {
  const file = join(temporaryFolder(), 'index.d.ts');
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
});
