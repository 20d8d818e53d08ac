import { describe, expect, it } from 'vitest';
import { inTurn, ratio } from '../../bench/harness/compare.mjs';
import { Line, looksInPlaceOfPings } from '../../bench/harness/counting-proxy.mjs';
import { isMet } from '../../bench/harness/finding.mjs';
import { barsBeside, barsOfCrowds, notesOfFailures, rowsOf } from '../../bench/harness/handover-report.mjs';
import { plansOf } from '../../bench/harness/plans.mjs';
import { median, quantile } from '../../bench/harness/quantiles.mjs';
import { parseOptions, ROWS } from '../../bench/options.mjs';
import { barRow, body, conditions, fillIn, page, section, tableOf } from '../../bench/report/markdown.mjs';
import { distribution, plots } from '../../bench/report/plots.mjs';
import { draw, linear, logarithmic } from '../../bench/report/svg.mjs';

const NAMES = ['Conclave lock', 'raw'];
const say = () => undefined;

const finding = {
  id: 'uncontended',
  title: 'Acquire and release',
  columns: ['who', 'p50 µs'],
  table: [['Conclave lock', 500]],
  bars: [
    { what: 'p50', measured: 500, bar: 600, unit: 'µs' },
    { what: 'requests', measured: 4, bar: 3 },
  ],
  notes: ['In turns.'],
  data: {},
};

const results = {
  date: '2026-11-21T18:00:00.000Z',
  args: ['--quick'],
  seconds: 119,
  machine: { processor: 'A processor', cores: 2, memoryGb: 8, kernel: 'Linux 6', versions: { Node: 'v20' } },
  before: { load: 0.1, stolenTicks: 10, allTicks: 1000 },
  after: { load: 1.9, stolenTicks: 60, allTicks: 2000 },
  findings: [finding],
  failures: [{ row: 'memory', reason: 'out of it' }],
};

describe('the statistics of a benchmark', () => {
  it('take the middle of an odd number of values, and the mean of both middles of an even one', () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  it('give the value that a share of all is below', () => {
    const values = Array.from({ length: 200 }, (_, at) => 199 - at);
    expect([0, 0.5, 0.99, 1].map((share) => quantile(values, share))).toEqual([0, 100, 198, 199]);
  });

  it('compare two contestants within each round, so that a slow round counts no more than a fast one', () => {
    const ours = [[80], [8000], [70]];
    const theirs = [[100], [10_000], [100]];
    expect(ratio(ours, theirs)).toBe(0.8);
  });
});

describe('the order of the contestants', () => {
  it('begins with another one in each round, and leaves nobody out', () => {
    const rounds = [0, 1, 2, 3].map((round) => inTurn(['a', 'b', 'c'], round).join(''));
    expect(rounds).toEqual(['abc', 'bca', 'cab', 'abc']);
    expect(inTurn([], 1)).toEqual([]);
  });
});

describe('a bar', () => {
  it('is met by what is no more, or no less where more is better', () => {
    expect(isMet({ what: '', measured: 3, bar: 3 })).toBe(true);
    expect(isMet({ what: '', measured: 3.1, bar: 3 })).toBe(false);
    expect(isMet({ what: '', measured: 3.1, bar: 3, atLeast: true })).toBe(true);
    expect(isMet({ what: '', measured: 2.9, bar: 3, atLeast: true })).toBe(false);
  });

  it('is not met by what could not be measured', () => {
    expect(isMet({ what: '', measured: Number.NaN, bar: 3 })).toBe(false);
    expect(isMet({ what: '', measured: Number.NaN, bar: 3, atLeast: true })).toBe(false);
  });

  it('is shown with its unit and whether it is met', () => {
    expect(barRow({ what: 'p50', measured: 500, bar: 600, unit: 'µs' })).toEqual([
      'p50',
      '500 µs',
      '≤ 600 µs',
      'yes',
    ]);
    expect(barRow({ what: 'speed', measured: 1, bar: 2, atLeast: true })).toEqual([
      'speed',
      '1',
      '≥ 2',
      '**no**',
    ]);
  });
});

describe("a benchmark's page", () => {
  it('has tables of as many columns in each line', () => {
    expect(tableOf(['a', 'b'], [[1, 'x|y']])).toBe('| a | b |\n|---|---|\n| 1 | x\\|y |\n');
  });

  it('shows a finding with its bars and notes', () => {
    expect(section(finding, '##')).toBe(
      [
        '## Acquire and release\n',
        '| who | p50 µs |\n|---|---|\n| Conclave lock | 500 |\n',
        '| bar | measured | is to be | met |\n|---|---|---|---|\n| p50 | 500 µs | ≤ 600 µs | yes |\n| requests | 4 | ≤ 3 | **no** |\n',
        '- In turns.\n',
      ].join('\n'),
    );
  });

  it('says on what it was measured, and how much others took of it', () => {
    const text = conditions(results);
    expect(text).toContain('`npm run bench -- --quick`, 2026-11-21, 2 minutes.');
    expect(text).toContain('A processor, 2 cores, 8 GB; Linux 6;\nNode v20.');
    expect(text).toContain('Load average 0.1 at the beginning, 1.9 at the end');
    expect(text).toContain("5.0 % of the processors' time");
  });

  it('says what failed, and links its plots', () => {
    const text = page(results, ['handover.svg']);
    expect(text).toContain('**memory failed**: out of it');
    expect(text).toContain('\n![handover.svg](handover.svg)\n');
    expect(body(results, ['../results/herd.svg'], '###')).toContain('![herd.svg](../results/herd.svg)');
  });

  it('is put between the marks of a document, again and again', () => {
    const document = 'before\n<!-- results: begin -->\nold\n<!-- results: end -->\nafter\n';
    const filled = fillIn(document, 'new\n');
    expect(filled).toBe('before\n<!-- results: begin -->\n\nnew\n\n<!-- results: end -->\nafter\n');
    expect(fillIn(filled, 'new\n')).toBe(filled);
    expect(() => fillIn('no marks', 'new')).toThrow('expected <!-- results: begin -->');
  });
});

/** Each element that is opened is closed, in its turn, and nothing but a number is where a place is. */
function expectWellFormed(svg: string) {
  const open: string[] = [];
  for (const [, closes, name, ends] of svg.matchAll(/<(\/?)([a-z]+)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (closes === '/') expect(open.pop()).toBe(name);
    else if (ends !== '/') open.push(name ?? '');
  }
  expect(open).toEqual([]);
  expect(svg.replaceAll(/<[^<>]*>/g, '')).not.toMatch(/[<>]/);
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
}

describe("a benchmark's plots", () => {
  it('have axes from one power of ten to another, or from 0', () => {
    const axis = logarithmic([15, 1000], [0, 200]);
    expect(axis.ticks).toEqual([10, 100, 1000]);
    expect([10, 100, 1000].map(axis.at)).toEqual([0, 100, 200]);
    expect(logarithmic([10], [0, 100]).ticks).toEqual([10, 100]);
    expect(linear([3, 4], [100, 0]).at(2)).toBe(50);
  });

  it('are well-formed, whatever the names are', () => {
    const svg = draw({
      title: 'p50 < p99 & more',
      x: 'contenders',
      y: 'µs',
      lines: [
        {
          name: '<b>',
          points: [
            [15, 300],
            [1000, 400],
          ],
          dashed: true,
        },
      ],
    });
    expectWellFormed(svg);
    expect(svg).toContain('p50 &lt; p99 &amp; more');
    expect(svg).toContain('&lt;b&gt;');
  });

  it('show how many were over by when', () => {
    expect(distribution([30, 10])).toEqual([
      [10, 0],
      [10, 0.5],
      [30, 1],
    ]);
  });

  it('are those for which something was measured', () => {
    expect(plots([finding])).toEqual({});
    const setting = { servers: 1, crowd: 15, pace: 'at once' };
    const files = plots([
      { ...finding, id: 'handover', data: [{ setting, series: [{ name: 'raw', rounds: [[1, 2]] }] }] },
      { ...finding, id: 'herd', data: [{ name: 'all', contenders: 2, requests: 2, notifications: 1 }] },
      { ...finding, id: 'unguarded-failover', data: [{ name: 'raw', tookMs: [2000, 2100] }] },
    ]);
    expect(Object.keys(files)).toEqual(['handover.svg', 'herd.svg', 'failover.svg']);
    for (const svg of Object.values(files)) expectWellFormed(svg);
    expect(files['handover.svg']).toContain('raw, at once');
    expect(files['handover.svg']).not.toContain('after a while');
  });
});

describe("a benchmark's options", () => {
  it('are by default those of the whole run', () => {
    expect(parseOptions([], NAMES)).toMatchObject({
      quick: false,
      rounds: 5,
      rows: ROWS,
      out: 'bench/results',
    });
    expect(parseOptions(['--quick'], NAMES)).toMatchObject({ quick: true, rounds: 2 });
  });

  it('choose rows, contestants, rounds and crowds', () => {
    const args = ['--only', 'idle, handover', '--contestants', 'raw', '--rounds', '7', '--crowds', '3,5'];
    expect(parseOptions(args, NAMES)).toMatchObject({
      rows: ['idle', 'handover'],
      contestants: ['raw'],
      rounds: 7,
      crowds: [3, 5],
    });
  });

  it.each([
    [['--only', 'handovers'], /--only has 'handovers': expected some of uncontended, handover,/],
    [['--contestants', 'Raft'], /--contestants has 'Raft': expected some of Conclave lock, raw,/],
    [['--rounds', '0'], /--rounds is '0': expected a whole number, 1 or more/],
    [['--rounds', '2,3'], /--rounds is '2,3': expected a whole number/],
    [['--crowds', '15,2'], /--crowds is '15,2': expected whole numbers, 3 or more/],
    [['--out', ''], /--out is empty: expected a folder/],
    [['--fast'], /Unknown option '--fast'.*npm run bench -- --help/s],
    [['handover'], /Unexpected argument 'handover'.*npm run bench -- --help/s],
  ])('that are wrong are refused with what would be right: %j', (args, message) => {
    expect(() => parseOptions(args, NAMES)).toThrow(message);
  });

  it('decide at which pace and in which crowds something is handed over', () => {
    const quick = plansOf({ quick: true, rounds: 2, say }, ['at once', 'after a while']);
    expect(quick).toEqual([
      { servers: 1, pace: 'at once', crowds: [15, 50], rounds: 2 },
      { servers: 1, pace: 'after a while', crowds: [15], rounds: 1 },
    ]);
    expect(plansOf({ quick: true, rounds: 2, say }, ['at once'])).toEqual(quick.slice(0, 1));
    const full = plansOf({ quick: false, rounds: 5, say }, ['at once']);
    expect(full.filter(({ servers }) => servers === 1).map(({ crowds }) => crowds)).toEqual([
      [15, 100, 1000],
      [15, 100, 1000],
    ]);
    expect(full.filter(({ servers }) => servers === 3)).toHaveLength(2);
  });
});

describe('bars of handovers', () => {
  const series = (name: string, us: number, requests: number[]) => ({
    name,
    rounds: [[us, us, us]],
    requests,
    notifications: [1],
  });
  const among = (crowd: number, ...all: ReturnType<typeof series>[]) => ({
    setting: { servers: 1 as const, crowd, pace: 'at once' as const },
    series: all,
    failures: [] as { name: string; round: number; reason: string }[],
  });
  const comparison = { ours: 'ours', rival: 'rival', p50: { 15: 0.8 } };

  it('compare with one rival, where there is a bar for the crowd', () => {
    const measured = among(15, series('ours', 300, [3]), series('rival', 400, [2]));
    expect(barsBeside(measured, { ...comparison, p99: 1 })).toEqual([
      { what: 'p50 at 15, times rival, at once', measured: 0.75, bar: 0.8 },
      { what: 'p99 at 15, times rival, at once', measured: 0.75, bar: 1 },
    ]);
    expect(barsBeside(measured, comparison)).toHaveLength(1);
    expect(barsBeside({ ...measured, setting: { ...measured.setting, crowd: 16 } }, comparison)).toEqual([]);
    expect(barsBeside(among(15, series('ours', 300, [3])), comparison)).toEqual([]);
  });

  it('see requests that grow with the crowd in every line, and no pings that fell into one line', () => {
    const requests = (...perLine: number[]) =>
      barsOfCrowds(
        [among(15, series('ours', 300, [3, 3, 3])), among(100, series('ours', 300, perLine))],
        'ours',
      ).find(({ what }) => what.startsWith('requests'))?.measured;
    expect(requests(3, 4.8, 3)).toBe(0);
    expect(requests(4, 4.2, 4)).toBe(1);
  });

  it('hold a thousand against the few on the same servers, where there are such', () => {
    const [few, many] = [among(15, series('ours', 500, [3])), among(1000, series('ours', 600, [3]))];
    const beside = { ...among(15, series('ours', 300, [3])), setting: { ...few.setting, sessions: 1000 } };
    const growth = (measured: Parameters<typeof barsOfCrowds>[0]) =>
      barsOfCrowds(measured, 'ours').find(({ what }) => what.startsWith('p50 at 1000'))?.measured;
    expect(growth([few, many])).toBe(1.2);
    expect(growth([few, many, beside])).toBe(2);
    expect(rowsOf([beside]).map(([, contenders]) => contenders)).toEqual(['15, beside 985 sessions']);
  });

  it('tell of rounds that broke down, and count ours', () => {
    const failure = (name: string) => ({ name, round: 2, reason: 'ConnectionLoss\nwith a trace' });
    const measured = among(1000, series('ours', 300, [3]));
    measured.failures.push(failure('rival'), failure('ours'));
    expect(notesOfFailures([measured])).toEqual([
      'rival broke down in round 2 at 1000, at once, which is left out: ConnectionLoss',
      'ours broke down in round 2 at 1000, at once, which is left out: ConnectionLoss',
    ]);
    const bar = barsOfCrowds([measured], 'ours').find(({ what }) => what.includes('broke down'));
    expect(bar).toEqual({ what: 'rounds of ours that broke down', measured: 1, bar: 0 });
  });
});

describe('looks in the place of pings', () => {
  const line = (...looksAt: number[]) => Object.assign(new Line(), { openedAt: 1000, looksAt });

  it('are those that a session sends when a ping would be due', () => {
    expect(looksInPlaceOfPings(line(2200, 3450, 4600), 1200)).toBe(3);
  });

  it('are no more than there would be pings', () => {
    expect(looksInPlaceOfPings(line(1100, 1200, 1300), 1200)).toBe(0);
    expect(looksInPlaceOfPings(line(2200, 2210, 2220, 3400), 1200)).toBe(2);
  });
});
