import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, describe, expect, it } from 'vitest';
import { RUNS_ALL } from '../support/vitest/extent.js';
import { checkHistory, type Verdict } from './nemesis/checker/check.js';
import type { Violation, ViolationKind } from './nemesis/checker/verdict.js';
import { readHistory } from './nemesis/history.js';
import { report } from './nemesis/report.js';
import { ALL_KINDS } from './nemesis/schedule.js';

const COMMAND = join(import.meta.dirname, '../../scripts/chaos.mjs');
const SEED = 8;
const HOW = RUNS_ALL ? ['--minutes', '3'] : ['--brief'];
const STORMS = RUNS_ALL ? 3 : 1;
// Servers and workers have to begin, and to end.
const ENDS_WITHIN_MS = 360_000;

describe('faults on real servers and workers', () => {
  let verdict: Verdict;

  beforeAll(async () => {
    let isRight = false;
    const folder = await mkdtemp(join(tmpdir(), 'conclave-chaos-test-'));
    try {
      const options = [...HOW, '--seed', String(SEED), '--keep', folder];
      // The history has what went wrong. The tests below check that the command's end reports it.
      const { stdout, stderr, exitCode } = await execa('node', [COMMAND, ...options], {
        reject: false,
        timeout: ENDS_WITHIN_MS - 10_000,
      });
      console.log(`npm run chaos -- ${HOW.join(' ')} --seed ${SEED}\n${stdout}\n${stderr}`);
      verdict = checkHistory(readHistory(join(folder, `history-${SEED}.jsonl`)));
      isRight = verdict.violations.length === 0;
      expect(exitCode).toBe(isRight ? 0 : 1);
      expect(stdout).toContain(report(verdict));
    } finally {
      // A failure can only be understood from its history.
      if (isRight) await rm(folder, { recursive: true, force: true });
    }
  }, ENDS_WITHIN_MS);

  /** The message has all of the violations: a report of many tests often shows nothing else of a failure. */
  const expectNone = (found: readonly Violation[]) =>
    expect(found, found.map(({ kind, what }) => `${kind}: ${what}`).join('\n')).toEqual([]);
  const expectNo = (...kinds: ViolationKind[]) =>
    expectNone(verdict.violations.filter(({ kind }) => kinds.includes(kind)));

  it('have all kinds of faults that the machine allows, and terms to spare', () => {
    const { counts: faults, passedOver } = verdict.faults;
    const missing = ALL_KINDS.filter((kind) => !faults.has(kind));
    // Each fault that didn't come says why.
    const explained = [...passedOver.keys()].map((why) => why.split(':')[0]);
    expect(missing.filter((kind) => !explained.includes(kind))).toEqual([]);
    expect(faults.size).toBeGreaterThan(10);
    const withTerms = verdict.setting.journals.filter(({ kind }) => kind !== 'lock');
    const terms = withTerms.map(({ name }) => verdict.terms.terms.get(name) ?? 0);
    expect(terms.length).toBe(3 + 6);
    expect(Math.min(...terms)).toBeGreaterThanOrEqual(STORMS);
    expect(verdict.holds.checks).toBeGreaterThan(300 * STORMS);
    // Each claim or handover was shown to some process.
    expect(verdict.shownVersions).toBeGreaterThan(terms.reduce((sum, count) => sum + count));
  });

  it('never give an election or a shard two leaders at once, nor one of them a token or a number that was given before', () => {
    expectNo('two leaders at once', 'a token that went back', 'a term given twice');
  });

  it('end each term once, and let no process join again without clean-up', () => {
    expectNo('not demoted once', 'joined again without clean-up');
  });

  it('let threads act by handles while main threads stand still, and cost no term in a calm', () => {
    expectNo('held again', 'a term lost in a stall');
    expect(verdict.stalls.actsOfThreads).toBeGreaterThan(300 * STORMS);
    expect(verdict.stalls.stalls).toBeGreaterThan(0);
  });

  it('lose and double no write that a fence protects, and let no former leader write', () => {
    expectNo('a lower token was taken', 'a lost write', 'a doubled write', 'a write out of place');
    expect(verdict.journals.fenced.taken).toBeGreaterThan(300 * STORMS);
  });

  it('are followed by a leader, a holder and an owner of each shard within the bound, each time', () => {
    expectNo('no leader within the bound');
    // The beginning, and all storms but the last: for each election, lock and shard.
    expect(verdict.recoveriesMs.length).toBeGreaterThanOrEqual(STORMS * verdict.setting.journals.length);
  });

  it('leave nothing behind, and nothing that does not end', () => {
    expectNo('an orphan', 'a process that did not stop');
  });

  it('find nothing else', () => {
    expectNone(verdict.violations);
  });
});
