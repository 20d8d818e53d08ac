import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { electionTable } from '../../../../src/cli/table/election-table.js';
import { textWidth } from '../../../../src/cli/table/text-width.js';
import { anyElection, electionView, LEADER, NOW } from '../../../support/conclave/election-views.js';

describe('the table of elections', () => {
  it('shows leader, term, since when, what is left of the lease, and how many candidates there are', () => {
    const views = [
      electionView({ path: '/b', state: 'deserted', leaders: [null], candidates: [] }),
      electionView({ path: '/a' }),
    ];
    expect(electionTable(views, NOW, 200)).toEqual([
      'ELECTION  STATE     LEADER  TERM  SINCE         LEASE  CANDIDATES',
      '/a        led       one        7  2m 5s  1.6s of 2.0s           2',
      '/b        deserted  -          -      -             -           0',
    ]);
  });

  it.each([
    [{ heartbeatAt: null }, '2.0s'],
    [{ heartbeatAt: NOW + 50 }, '2.0s of 2.0s'], // The servers' clock may be ahead.
    [{ heartbeatAt: NOW - 5000 }, 'over for 3s'],
    [{ heartbeatAt: NOW - 2000 }, '0.0s of 2.0s'],
  ])('says of a lease with %j: %s', (leader, text) => {
    const [, row] = electionTable([electionView({ leaders: [{ ...LEADER, ...leader }] })], NOW, 200);
    expect(row).toContain(`  ${text}  `);
  });

  it('has a row for each seat', () => {
    const leaders = [LEADER, null, { ...LEADER, id: 'three', seat: 2 }];
    const rows = electionTable([electionView({ seats: 3, state: 'vacant', leaders })], NOW, 200);
    expect(rows.slice(1).map((row) => row.split(/ {2,}/).slice(0, 3))).toEqual([
      ['/a seat 0', 'led', 'one'],
      ['/a seat 1', 'vacant', '-'],
      ['/a seat 2', 'led', 'three'],
    ]);
  });

  it('leaves the least important out where there is no room, and never what election it is', () => {
    const at = (width: number) => electionTable([electionView({ path: '/elections/scheduler' })], NOW, width);
    expect(at(60)[0]).toBe('ELECTION              STATE  LEADER  TERM  SINCE  CANDIDATES');
    expect(at(30)[0]).toBe('ELECTION         STATE  LEADER');
    expect(at(12)).toEqual(['ELECTION', '…s/scheduler']);
  });

  it('is never wider than the terminal, whatever other clients have written, and sends it no commands', () => {
    fc.assert(
      fc.property(
        fc.array(anyElection, { maxLength: 5 }),
        fc.integer({ min: 1, max: 160 }),
        (views, width) => {
          const lines = electionTable(views, NOW, width);
          for (const line of lines) {
            expect(textWidth(line)).toBeLessThanOrEqual(width);
            expect(line).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
          }
        },
      ),
    );
  });
});
