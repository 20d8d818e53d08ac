import { describe, expect, it } from 'vitest';
import { report, sum, type Terms } from './false-takeovers.mjs';

describe('the counts of false takeovers', () => {
  it('are those of all processes', () => {
    const terms: Terms[] = [
      { begun: 10, ended: { 'lease-expired': 2 } },
      { begun: 3, ended: { 'lease-expired': 1, 'session-expired': 1 } },
    ];
    expect(sum(terms)).toEqual({ begun: 13, ended: { 'lease-expired': 3, 'session-expired': 1 } });
  });

  it('are shown for each lease', () => {
    const { table } = report(
      [
        { leaseMs: undefined, terms: { begun: 11, ended: { 'lease-expired': 1 } } },
        { leaseMs: 500, terms: { begun: 14, ended: { 'lease-expired': 3, 'node-deleted': 1 } } },
      ],
      10,
    );
    expect(table.map((cells) => cells.slice(2))).toEqual([
      [11, 1, 'lease-expired 1'],
      [14, 4, 'lease-expired 3, node-deleted 1'],
    ]);
  });
});
