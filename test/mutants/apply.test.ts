import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transpileModule } from 'typescript';
import { describe, expect, it } from 'vitest';
import { mutate } from './apply.mjs';
import { MUTANTS } from './mutants.mjs';

const ROOT = join(import.meta.dirname, '../..');
const sourceOf = (file: string) => readFileSync(join(ROOT, 'src', file), 'utf8');

describe('a wrong version of Conclave', () => {
  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    'still changes what it says it does: %s',
    (_name, mutant) => {
      expect(mutant.edits.length).toBeGreaterThan(0);
      for (const { file } of mutant.edits) {
        const source = sourceOf(file);
        const mutated = mutate(mutant, file, source);
        expect(mutated).not.toBe(source);
        expect(transpileModule(mutated, { reportDiagnostics: true }).diagnostics).toEqual([]);
      }
      const names = mutant.test.split(' > ');
      const tests = readFileSync(join(ROOT, 'test', mutant.file), 'utf8').replaceAll("\\'", "'");
      expect(names).toHaveLength(2);
      for (const name of names) expect(tests).toContain(name);
    },
  );

  it('has a name that is nobody else’s', () => {
    const names = MUTANTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('is refused when what it changes is not there, or is there twice', () => {
    const [mutant] = MUTANTS as [(typeof MUTANTS)[number]];
    const [{ file, from }] = mutant.edits as [(typeof mutant.edits)[number]];
    expect(() => mutate(mutant, file, 'nothing of it')).toThrow(`${mutant.name}: src/${file} has 0 times`);
    expect(() => mutate(mutant, file, `${from} ${from}`)).toThrow(`${mutant.name}: src/${file} has 2 times`);
  });
});
