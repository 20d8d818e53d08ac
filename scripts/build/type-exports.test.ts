import { expect, it } from 'vitest';
import { asTypes } from './type-exports.mjs';

it('what a declaration file exports is a type, if it does not exist at run time', () => {
  const code = 'declare class A {}\nexport { A, B as C, D };\nexport type { E };\n';
  expect(asTypes(code, new Set(['A', 'C']))).toBe(
    'declare class A {}\nexport { A, B as C };\nexport type { D };\nexport type { E };\n',
  );
  expect(asTypes('export { A };', new Set())).toBe('export type { A };');
  expect(asTypes('export { A };', new Set(['A']))).toBe('export { A };');
});
