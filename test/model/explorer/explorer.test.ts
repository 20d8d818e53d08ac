import { describe, expect, it } from 'vitest';
import type { Step } from '../../../src/election/decide-next-step.js';
import { type Bounds, explore, type Rules, SHIPPED } from './explorer.js';

const NONE = { faults: 0, strangers: 0, isLedByLast: false };
const TWO: Bounds = { ...NONE, candidates: 2, ticks: 5, proofs: 2, terms: 2 };
const WITH_A_FAULT: Bounds = { ...TWO, proofs: 1, faults: 1 };
const WITH_A_STRANGER: Bounds = { ...TWO, proofs: 1, strangers: 1, terms: 4, isLedByLast: true };
const THREE: Bounds = { ...NONE, candidates: 3, ticks: 2, proofs: 1, terms: 2 };

const WRONG: readonly (readonly [what: string, rules: Partial<Rules>])[] = [
  [
    'heartbeats raise no version',
    {
      claimProof: (own) => SHIPPED.claimProof(own).slice(0, 1),
      proof: (...given) => SHIPPED.proof(...given).filter(({ kind }) => kind !== 'set'),
    },
  ],
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
    { claimOf: (...given) => ({ ...SHIPPED.claimOf(...given), version: -1 }) },
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

/** Where another client overwrites the record. */
const WRONG_BESIDE_A_STRANGER: readonly (readonly [what: string, rules: Partial<Rules>])[] = [
  ["a leader's proof does not check the record", { proof: (own) => SHIPPED.claimProof(own) }],
  ['a lease from before the term counts', { provesBefore: true }],
  ['a guarded write checks the node alone', { guard: (...given) => SHIPPED.guard(...given).slice(0, 1) }],
  [
    'a candidate claims over a record that it can not read at once',
    {
      decide: (of, known) => {
        const { record } = of;
        const isOverwritten = record?.value.state === 'unreadable' && known.ahead?.position === 0;
        return isOverwritten ? { do: 'claim', over: record } : SHIPPED.decide(of, known);
      },
    },
  ],
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
    ['two candidates, and another client that overwrites the record', WITH_A_STRANGER],
    ['three candidates', THREE],
  ] as const)('keep all promises in every state: %s', (_, bounds) => {
    const { states, broken } = explore(SHIPPED, bounds);
    expect(broken).toBeUndefined();
    expect(states).toBeGreaterThan(15_000);
  });
});

describe('the search of the decisions and transactions finds two leaders where', () => {
  it.each(WRONG)('%s', (_, rules) => {
    const { broken } = explore({ ...SHIPPED, ...rules }, WITH_A_FAULT);
    expect(broken?.at(-1)).toMatch(/act at once|doesn't name it/);
  });

  it.each(WRONG_BESIDE_A_STRANGER)('another client overwrites the record, and %s', (_, rules) => {
    const { broken } = explore({ ...SHIPPED, ...rules }, WITH_A_STRANGER);
    expect(broken?.at(-1)).toMatch(/act at once|doesn't name it|after its term/);
  });
});
