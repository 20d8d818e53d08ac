import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { itemsOf } from '../../../../src/cli/status/items-as-json-and-text.js';
import { ChangeLines, LivePage, notesOf } from '../../../../src/cli/status/live-page.js';
import type { ElectionView, OverviewState } from '../../../../src/overview/model/view-types.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { electionView, LEADER, NOW, stateOf } from '../../../support/conclave/election-views.js';

function shown(elections: readonly ElectionView[], more: Partial<OverviewState> = {}) {
  const state = stateOf(elections, more);
  return { ...state, items: itemsOf(state) };
}

function changeLines(isJson: boolean) {
  const printed: string[] = [];
  return { lines: new ChangeLines((line) => void printed.push(line), isJson), printed };
}

const vacant = electionView({ path: '/b', state: 'vacant', leader: null });

describe('lines for changes', () => {
  it('are one for each election at first, and then one for each that has changed', () => {
    const { lines, printed } = changeLines(false);
    lines.show(shown([vacant, electionView()]));
    lines.show(shown([electionView({ leader: { ...LEADER, heartbeatAt: NOW } }), vacant]));
    expect(printed).toEqual(['/a  led  one term 7  2 candidates', '/b  vacant  -  2 candidates']);
    lines.show(shown([electionView(), electionView({ path: '/b', leader: { ...LEADER, term: 8 } })]));
    lines.show(shown([electionView()]));
    lines.show(shown([electionView()]));
    expect(printed.slice(2)).toEqual(['/b  led  one term 8  2 candidates', '/b  removed']);
  });

  it('are objects with --json', () => {
    const { lines, printed } = changeLines(true);
    lines.show(shown([vacant]));
    lines.show(shown([]));
    expect(printed.map((line) => JSON.parse(line))).toMatchObject([
      { election: '/b', state: 'vacant', leader: null, candidates: [{ id: 'one' }, { id: 'two' }] },
      { election: '/b', state: 'removed' },
    ]);
  });

  it.each([
    [false, 'not connected to a server', '/a  led  one term 7  2 candidates'],
    [true, '{"connected":false}', expect.stringMatching(/^\{"election":"\/a",/)],
  ])(
    'say once, with --json %j, that no server is connected, and then who leads again',
    (isJson, lost, line) => {
      const { lines, printed } = changeLines(isJson);
      lines.show(shown([electionView()]));
      for (const connected of [false, false, true, true]) lines.show(shown([electionView()], { connected }));
      expect(printed).toEqual([line, lost, line]);
    },
  );
});

it('a page shows an error for ten seconds, and not for ever', async () => {
  const clock = new TestClock();
  let written = '';
  const write = (text: string) => {
    written = text;
  };
  const terminal = Object.assign(new EventEmitter(), { columns: 80, rows: 10, write });
  const page = new LivePage(() => ['the page'], terminal, clock);
  page.show(shown([]));
  page.report('no server');
  expect(written).toContain('no server');
  page.show(shown([]));
  await clock.advance(9_000);
  expect(written).toContain('no server');
  await clock.advance(1_000);
  expect(written).toContain('the page');
  expect(written).not.toContain('no server');
  page.end();
  expect([terminal.listenerCount('resize'), clock.timerCount]).toEqual([0, 0]);
});

it('the notes below a page say what is not shown, and whether it may be old', () => {
  expect(notesOf(shown([]))).toEqual([]);
  expect(notesOf(shown([], { connected: false, limits: ['/a may not be read'] }))).toEqual([
    '/a may not be read',
    'not connected to a server: this page may be out of date',
  ]);
});
