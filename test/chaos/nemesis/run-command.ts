import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect } from 'vitest';
import { checkHistory, type Verdict } from './checker/check.js';
import type { Violation } from './checker/verdict.js';
import { readHistory } from './history.js';
import { report } from './report.js';
import { kindsOf } from './schedule.js';

const COMMAND = join(import.meta.dirname, '../../../scripts/chaos.mjs');

/** Runs `npm run chaos` with this seed, and checks its history, which stays if anything is violated. */
export async function runCommand(
  seed: number,
  options: readonly string[],
  endsWithinMs: number,
): Promise<Verdict> {
  let isRight = false;
  const folder = await mkdtemp(join(tmpdir(), 'conclave-chaos-test-'));
  try {
    const args = [...options, '--seed', String(seed)];
    // The history has what went wrong. The tests check that the command's end reports it.
    const { stdout, stderr, exitCode } = await execa('node', [COMMAND, ...args, '--keep', folder], {
      reject: false,
      timeout: endsWithinMs,
    });
    console.log(`npm run chaos -- ${args.join(' ')}\n${stdout}\n${stderr}`);
    const verdict = checkHistory(readHistory(join(folder, `history-${seed}.jsonl`)));
    isRight = verdict.violations.length === 0;
    expect(exitCode).toBe(isRight ? 0 : 1);
    expect(stdout).toContain(report(verdict));
    return verdict;
  } finally {
    // A failure can only be understood from its history.
    if (isRight) await rm(folder, { recursive: true, force: true });
  }
}

/** The message has all of the violations: a report of many tests often shows nothing else of a failure. */
export function expectNone(found: readonly Violation[]): void {
  expect(found, found.map(({ kind, what }) => `${kind}: ${what}`).join('\n')).toEqual([]);
}

/** Each kind of fault came, or the history says why it didn't. */
export function expectAllKinds({ setting, faults }: Verdict): void {
  const explained = [...faults.passedOver.keys()].map((why) => why.split(':')[0]);
  const missing = kindsOf(setting.links ?? 'proxied').filter((kind) => !faults.counts.has(kind));
  expect(missing.filter((kind) => !explained.includes(kind))).toEqual([]);
  expect(faults.counts.size).toBeGreaterThan(10);
}
