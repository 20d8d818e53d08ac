import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
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

describe('the wrong versions of Conclave', () => {
  it('are each caught by the test that is there for it', async () => {
    const { all, exitCode } = await run();
    expect(exitCode, all).toBe(0);
    expect(all).toContain(`${MUTANTS.length} of ${MUTANTS.length} caught`);
  });

  it('are said to survive when no test notices', async () => {
    const { all, exitCode } = await run('--only', 'no-uuid', '--files', 'test/unit/lease/lease.test.ts');
    expect(exitCode, all).toBe(1);
    expect(all).toContain('SURVIVED');
    expect(all).toContain('0 of 1 caught');
  });
});
