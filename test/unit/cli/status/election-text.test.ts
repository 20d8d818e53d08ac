import { describe, expect, it } from 'vitest';
import { electionDetails, electionJson, electionLine } from '../../../../src/cli/status/election-text.js';
import type { CandidateView } from '../../../../src/overview/model/views.js';
import { electionView, LEADER, NOW } from '../../../support/conclave/election-views.js';

describe('an election in one line', () => {
  it('says who leads in which term, and how many candidates there are', () => {
    expect(electionLine(electionView())).toBe('/a  led  one term 7  2 candidates');
    const leaders = [LEADER, null];
    expect(electionLine(electionView({ seats: 2, state: 'vacant', leaders }))).toBe(
      '/a  vacant  one term 7  -  2 candidates',
    );
    expect(
      electionLine(electionView({ path: '/a\n', candidates: [], leaders: [null], state: 'deserted' })),
    ).toBe('/a\\u000a  deserted  -  0 candidates');
  });

  it('does not change with the heartbeats', () => {
    const later = electionView({ leaders: [{ ...LEADER, heartbeatAt: NOW }] });
    expect(electionLine(later)).toBe(electionLine(electionView()));
  });

  it('as JSON has all but its past terms', () => {
    const { path, terms: _, ...rest } = electionView();
    expect(electionJson(electionView())).toEqual({ election: path, ...rest });
  });
});

describe('an election in detail', () => {
  it('says who leads, with what it advertises, how old its heartbeat is, and who waits', () => {
    expect(electionDetails(electionView(), undefined, NOW)).toEqual([
      'term 7  one  here  for 2m 5s',
      "heartbeat  400 ms ago, by the servers' clock and this machine's",
      'waits  two',
    ]);
  });

  it('shows the leader of a seat', () => {
    const leaders = [LEADER, { ...LEADER, id: 'two', node: 'n2', seat: 1, heartbeatAt: null }];
    expect(electionDetails(electionView({ seats: 2, leaders }), 1, NOW)).toEqual(['term 7  two  for 2m 5s']);
    expect(electionDetails(electionView({ seats: 2, leaders }), 5, NOW)[0]).toBe('nobody leads');
  });

  it('shows the leaders of all seats, and counts none of them as waiting', () => {
    const leaders = [LEADER, null, { ...LEADER, id: 'two', node: 'n2', seat: 2, heartbeatAt: null }];
    expect(electionDetails(electionView({ seats: 3, leaders }), undefined, NOW)).toEqual([
      'seat 0  term 7  one  here  for 2m 5s',
      "heartbeat  400 ms ago, by the servers' clock and this machine's",
      'seat 1  nobody leads',
      'seat 2  term 7  two  for 2m 5s',
    ]);
  });

  it('shows those that wait in the order in which they will lead, with their priorities, also as JSON', () => {
    const [leader, first] = electionView().candidates as [CandidateView, CandidateView];
    const preferred = { ...first, id: 'three', node: 'n3', position: 2, priority: 7, data: 'there' };
    const view = electionView({ candidates: [first, leader, preferred] });
    expect(electionDetails(view, undefined, NOW).slice(2)).toEqual([
      'waits  three  priority 7  there',
      'waits  two',
    ]);
    expect(electionJson(view)).toMatchObject({ candidates: [{ id: 'one' }, { id: 'three' }, { id: 'two' }] });
  });

  it('says that there is no leader, or no election', () => {
    expect(electionDetails(electionView({ leaders: [null] }), undefined, NOW)).toEqual([
      'nobody leads',
      'waits  one  here',
      'waits  two',
    ]);
    expect(electionDetails(undefined, undefined, NOW)).toEqual(['there is no such election']);
  });
});
