import { describe, expect, it } from 'vitest';
import type { Step } from '../../../src/election/decide.js';
import { type Bounds, explore, type Rules, SHIPPED } from './explorer.js';

const TWO: Bounds = { candidates: 2, ticks: 5, proofs: 2, faults: 0, terms: 2 };
const WITH_A_FAULT: Bounds = { candidates: 2, ticks: 5, proofs: 1, faults: 1, terms: 2 };
const THREE: Bounds = { candidates: 3, ticks: 2, proofs: 1, faults: 0, terms: 2 };

const WRONG: readonly (readonly [what: string, rules: Partial<Rules>])[] = [
  ['heartbeats raise no version', { proof: (own) => SHIPPED.proof(own).slice(0, 1) }],
  ['a leader acts on while its release is under way', { actsOn: true }],
  [
    'a takeover deletes the heartbeat node at any version',
    {
      takeoverParts: (...given) =>
        SHIPPED.takeoverParts(...given).map(
          ({ kind, path }) => ({ kind, path }) as { kind: 'delete'; path: string },
        ),
    },
  ],
  ['a takeover deletes nothing', { takeoverParts: () => [] }],
  [
    'a claim writes the record at any version',
    { claimParts: (...given) => ({ ...SHIPPED.claimParts(...given), version: -1 }) },
  ],
  [
    'a candidate does not wait when the node of the leader is gone',
    { decide: (of, known) => claimIf(of.holder.name === 'gone', of, known) },
  ],
  [
    'a candidate does not wait for the lease of a silent leader',
    { decide: (of, known) => claimIf(of.holder.name === 'beating', of, known) },
  ],
  ['a candidate claims whatever the record says', { decide: (of, known) => claimIf(true, of, known) }],
];

/** As the shipped decision. But a candidate that would wait for the end of a lease claims at once. */
function claimIf(condition: boolean, ...[of, known]: Parameters<Rules['decide']>): Step {
  const step = SHIPPED.decide(of, known);
  if (step.do !== 'wait' || !condition || of.record?.value.state !== 'held') return step;
  const instead = of.holder.name === 'beating' ? of.holder : undefined;
  return { do: 'claim', over: of.record, instead };
}

describe('the shipped decisions and transactions', () => {
  it.each([
    ['two candidates', TWO],
    ['two candidates, and one session that ends or one process that dies', WITH_A_FAULT],
    ['three candidates', THREE],
  ] as const)('keep all promises in every state: %s', (_, bounds) => {
    const { states, broken } = explore(SHIPPED, bounds);
    expect(broken).toBeUndefined();
    expect(states).toBeGreaterThan(20_000);
  });
});

describe('the search of the decisions and transactions finds two leaders where', () => {
  it.each(WRONG)('%s', (_, rules) => {
    const { broken } = explore({ ...SHIPPED, ...rules }, WITH_A_FAULT);
    expect(broken?.at(-1)).toMatch(/act at once|doesn't name it/);
  });
});
