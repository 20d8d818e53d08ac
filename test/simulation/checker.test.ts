import { describe, expect, it } from 'vitest';
import type { Candidate } from './candidates/candidate.js';
import { LeadershipChecker, type Losses } from './checker.js';
import { Ledger } from './ledger.js';

const LEASE_MS = 4000;

/** Those who act, by the life of the ensemble that each leads in, `sinceLossMs` after it lost its data. */
function look(lives: readonly number[], sinceLossMs: number, wasRestored = false): Ledger {
  const ledger = new Ledger(() => 0);
  const candidates = lives.map((life, place) => {
    return { isActing: true, life, leadershipName: `process-${place}` } as unknown as Candidate;
  });
  const losses: Losses = { lostAt: 0, wasRestored };
  const checker = new LeadershipChecker(
    ledger,
    () => candidates,
    () => losses,
    () => sinceLossMs,
    LEASE_MS,
  );
  checker.checkActing();
  return ledger;
}

const kinds = ({ violations }: Ledger) => violations.map(({ kind }) => kind);

describe('two that act at once', () => {
  it('are two leaders, also right after the ensemble has lost its data, if they lead by the same data', () => {
    expect(kinds(look([1, 1], 10))).toEqual(['two leaders']);
    expect(kinds(look([1, 1], 10, true))).toEqual(['two leaders']);
    expect(kinds(look([0, 1, 1], 10))).toEqual(['two leaders']);
  });

  it('are let pass for a lease from a loss of data, if one of them leads by what was lost', () => {
    const ledger = look([0, 1], LEASE_MS);
    expect(kinds(ledger)).toEqual([]);
    expect([...ledger.counts.keys()]).toEqual(['leaders: two at once within a lease of a loss of data']);
    expect(kinds(look([0, 1], LEASE_MS + 1))).toEqual(['two leaders']);
  });

  it('are counted after that if the data were restored from an earlier state', () => {
    const ledger = look([0, 1], LEASE_MS + 1, true);
    expect(kinds(ledger)).toEqual([]);
    expect([...ledger.counts.keys()]).toEqual(['leaders: two at once after data were restored']);
  });
});

it('tokens and numbers of terms rise in one life of the ensemble, and begin anew in the next', () => {
  const ledger = new Ledger(() => 0);
  const losses: Losses = { lostAt: 0, wasRestored: false };
  const checker = new LeadershipChecker(
    ledger,
    () => [],
    () => losses,
    () => 0,
    LEASE_MS,
  );
  checker.elected({ token: 7n, number: 3 }, 0);
  checker.elected({ token: 1n, number: 1 }, 1);
  checker.elected({ token: 8n, number: 4 }, 0); // Reported late, after its loss.
  checker.elected({ token: 2n, number: 2 }, 1);
  expect(kinds(ledger)).toEqual([]);
  checker.elected({ token: 2n, number: 2 }, 1);
  expect(kinds(ledger)).toEqual(['token', 'term']);
});
