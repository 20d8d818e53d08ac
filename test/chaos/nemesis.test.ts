import { beforeAll, describe, expect, it } from 'vitest';
import { RUNS_ALL } from '../support/vitest/extent.js';
import type { Verdict } from './nemesis/checker/check.js';
import type { ViolationKind } from './nemesis/checker/verdict.js';
import { expectAllKinds, expectNone, runCommand } from './nemesis/run-command.js';

const SEED = 8;
const HOW = RUNS_ALL ? ['--minutes', '3'] : ['--brief'];
const STORMS = RUNS_ALL ? 3 : 1;
// Servers and workers have to begin, and to end.
const ENDS_WITHIN_MS = 360_000;

describe('faults on real servers and workers', () => {
  let verdict: Verdict;

  beforeAll(async () => {
    verdict = await runCommand(SEED, HOW, ENDS_WITHIN_MS - 10_000);
  }, ENDS_WITHIN_MS);

  const expectNo = (...kinds: ViolationKind[]) =>
    expectNone(verdict.violations.filter(({ kind }) => kinds.includes(kind)));

  it('have all kinds of faults that the machine allows, and terms to spare', () => {
    expectAllKinds(verdict);
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
