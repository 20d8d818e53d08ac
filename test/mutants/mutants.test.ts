import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { RUNS_ALL } from '../support/vitest/extent.js';
import { dueMutants, recentChanges } from './due.mjs';
import { MUTANTS } from './mutants.mjs';

const ROOT = join(import.meta.dirname, '../..');

/** The environment without this test run's variables, which the mutants' run would take for its own. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(VITEST|CONCLAVE_MUTANTS)/.test(name)),
);

async function run(...options: string[]) {
  const { all, exitCode } = await execa('node', [join(ROOT, 'scripts/mutants.mjs'), ...options], {
    cwd: ROOT,
    all: true,
    reject: false,
    env: environment,
    extendEnv: false,
  });
  return { all, exitCode };
}

const { changed, share } = recentChanges(ROOT);
const due = RUNS_ALL ? MUTANTS : dueMutants(MUTANTS, changed, share);

describe('the wrong versions of Conclave', () => {
  it(`are each caught by the test that is there for it: ${due.length} of ${MUTANTS.length}`, async () => {
    const { all, exitCode } = await run('--only', due.map(({ name }) => name).join(','));
    expect(exitCode, all).toBe(0);
    expect(all).toContain(`${due.length} of ${due.length} caught`);
  });

  it('are run if their file has changed, or the test that catches them, and each of them after ten commits', () => {
    const [mutant] = MUTANTS as [(typeof MUTANTS)[number]];
    const never = -1;
    expect(dueMutants([mutant], [], never)).toEqual([]);
    expect(dueMutants([mutant], [`test/${mutant.file}`], never)).toEqual([mutant]);
    expect(dueMutants([mutant], [`src/${mutant.edits[0]?.file}`], never)).toEqual([mutant]);
    const shares = Array.from({ length: 10 }, (_, at) => dueMutants(MUTANTS, [], 1234 + at));
    expect(new Set(shares.flat()).size).toBe(MUTANTS.length);
    expect(shares.flat()).toHaveLength(MUTANTS.length);
  });

  it('are said to survive when no test notices', async () => {
    const { all, exitCode } = await run('--only', 'no-uuid', '--files', 'test/unit/lease/lease.test.ts');
    expect(exitCode, all).toBe(1);
    expect(all).toContain('SURVIVED');
    expect(all).toContain('0 of 1 caught');
  });
});
