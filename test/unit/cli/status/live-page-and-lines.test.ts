import { describe, expect, it } from 'vitest';
import { ChangeLines, notesOf } from '../../../../src/cli/status/live-page-and-lines.js';
import { electionView, LEADER, NOW, stateOf } from '../../../support/conclave/election-views.js';

function changeLines(isJson: boolean) {
  const printed: string[] = [];
  return { lines: new ChangeLines((line) => void printed.push(line), isJson), printed };
}

const vacant = electionView({ path: '/b', state: 'vacant', leaders: [null] });

describe('lines for changes', () => {
  it('are one for each election at first, and then one for each that has changed', () => {
    const { lines, printed } = changeLines(false);
    lines.show(stateOf([vacant, electionView()]));
    lines.show(stateOf([electionView({ leaders: [{ ...LEADER, heartbeatAt: NOW }] }), vacant]));
    expect(printed).toEqual(['/a  led  one term 7  2 candidates', '/b  vacant  -  2 candidates']);
    lines.show(stateOf([electionView(), electionView({ path: '/b', leaders: [{ ...LEADER, term: 8 }] })]));
    lines.show(stateOf([electionView()]));
    lines.show(stateOf([electionView()]));
    expect(printed.slice(2)).toEqual(['/b  led  one term 8  2 candidates', '/b  removed']);
  });

  it('are objects with --json', () => {
    const { lines, printed } = changeLines(true);
    lines.show(stateOf([vacant]));
    lines.show(stateOf([]));
    expect(printed.map((line) => JSON.parse(line))).toMatchObject([
      { election: '/b', state: 'vacant', leader: null, candidates: [{ id: 'one' }, { id: 'two' }] },
      { election: '/b', state: 'removed' },
    ]);
  });
});

it('the notes below a page say what is not shown, and whether it may be old', () => {
  expect(notesOf(stateOf([]))).toEqual([]);
  expect(notesOf(stateOf([], { connected: false, limits: ['/a\u001b may not be read'] }))).toEqual([
    '/a\\u001b may not be read',
    'not connected to a server: this page may be out of date',
  ]);
});
