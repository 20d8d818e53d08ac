import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, findZ3, solve } from '../../../tools/z3/solve.mjs';
import { INDUCTION } from './questions.mjs';
import { rowOf, WRITES, type Write } from './writes.mjs';

const WRITTEN: readonly Write[] = Object.values(WRITES);

describe.each(INDUCTION)('the invariant: $about', ({ questions }) => {
  let answers: readonly Answer[];
  beforeAll(async () => {
    findZ3();
    answers = await solve(questions.map(({ text }) => text));
  });

  it.each(questions.map((question, at) => ({ ...question, at })))('$name', ({ at, expected }) => {
    expect(answers[at]).toBe(expected);
  });
});

describe('the proof for any number of candidates and terms', () => {
  it('has the writes of the table in the README of the election', () => {
    const readme = readFileSync(join(import.meta.dirname, '../../../src/election/README.md'), 'utf8');
    const [, section = ''] = /^## The writes\n(.*?)^## /ms.exec(readme) ?? [];
    const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| |'));
    expect(rows).toEqual(WRITTEN.map(rowOf));
  });

  it('lets a lease begin only with writes that check or write the record, and raise a version', () => {
    for (const { begins, parts, name } of WRITTEN) {
      const isProof =
        parts.some(({ kind, node }) => kind === 'check' && node === 'own') &&
        parts.some(({ kind, node }) => kind === 'set' && node === 'heartbeat') &&
        parts.some(({ node, version }) => node === 'record' && version === 'v');
      expect([name, begins === true]).toEqual([name, isProof]);
    }
  });
});
