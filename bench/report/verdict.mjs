/** The published medians, Conclave beside its peers, as one table for readers who want no others. */
import { isMet } from '../harness/finding.mjs';
import { tableOf } from './markdown.mjs';

/** @import { Finding } from '../harness/finding.mjs' */
/** @import { Results } from './markdown.mjs' */

/** The figure of a column, in the row that begins with these values. @typedef {(column: string, ...values: (string | number | undefined)[]) => number} Cell */

/**
 * @typedef {object} Line
 * @property {string} id of the finding
 * @property {string} what
 * @property {string} unit
 * @property {(cell: Cell) => number} conclave
 * @property {(cell: Cell) => string} [also] another figure of Conclave's
 * @property {(cell: Cell) => Record<string, number>} [others] by their names
 */

/** Two figures that differ by less are equal: see "Noise" in `docs/benchmarks.md`. */
const NOISE = 0.1;
const REPARTITION = '10 to 11 workers, 1000 pieces: a moved piece has no owner';

class MissingFigure extends Error {}

/** @type {readonly Line[]} */
const LINES = [
  {
    id: 'host-failover',
    what: 'A killed leader is replaced, session timeout 6 s',
    unit: 'ms',
    conclave: (cell) => cell('p50 ms', 'kill -9', 6, 'Conclave'),
    also: (cell) =>
      `${shown(cell('p50 ms', 'kill -9', 6, 'Conclave, lease 0.5 s'), 'ms')} with a lease of 0.5 s`,
    others: (cell) => ({
      LeaderLatch: cell('p50 ms', 'kill -9', 6, 'Curator LeaderLatch'),
      kazoo: cell('p50 ms', 'kill -9', 6, 'kazoo Election'),
      etcd: cell('p50 ms', 'kill -9', 6, 'etcd election'),
    }),
  },
  {
    id: 'host-failover',
    what: 'A leader whose link falls silent is replaced',
    unit: 'ms',
    conclave: (cell) => cell('p50 ms', 'its link is silent, both ways', 6, 'Conclave'),
    others: (cell) => ({
      LeaderLatch: cell('p50 ms', 'its link is silent, both ways', 6, 'Curator LeaderLatch'),
    }),
  },
  {
    id: 'guarded-failover',
    what: 'A killed leader with a guardian in its parent process is replaced, session timeout 10 s',
    unit: 'ms',
    conclave: (cell) => cell('p50 ms', 'Conclave, with a guardian', 10_000),
    also: (cell) => `${shown(cell('p50 ms', 'Conclave, with a guardian', 30_000), 'ms')} with 30 s`,
  },
  {
    id: 'blocked-leader',
    what: 'The least time left of a lease of 0.5 s while the event loop of its leader is blocked for 20 s',
    unit: 'ms',
    conclave: (cell) => cell('with `maxStallMs`', 'blocked 20 s, lease 0.5 s: least `remainingMs()`'),
    also: (cell) =>
      `without \`maxStallMs\` another leads after ${shown(cell('without', 'blocked 20 s, lease 0.5 s: another led after, ms'), 'ms')}`,
  },
  ...[15, 1000].map((crowd) =>
    handover(crowd, 'after a while', 'to a candidate that has waited for a while'),
  ),
  ...[15, 1000].map((crowd) => handover(crowd, 'at once', 'right after another one')),
  {
    id: 'uncontended',
    what: 'Uncontended lock, one server in memory',
    unit: 'µs',
    conclave: (cell) => cell('p50 µs', 'one server, tmpfs', 'Conclave lock'),
    others: (cell) => ({
      'go-zookeeper': cell('p50 µs', 'one server, tmpfs', 'go-zookeeper Lock'),
      Curator: cell('p50 µs', 'one server, tmpfs', 'Curator InterProcessMutex'),
      kazoo: cell('p50 µs', 'one server, tmpfs', 'kazoo Lock'),
    }),
  },
  {
    id: 'uncontended',
    what: 'Uncontended lock, three servers with disks',
    unit: 'µs',
    conclave: (cell) => cell('p50 µs', 'three servers, disk', 'Conclave lock'),
    others: (cell) => ({ 'go-zookeeper': cell('p50 µs', 'three servers, disk', 'go-zookeeper Lock') }),
  },
  {
    id: 'uncontended',
    what: 'A term won and left, three servers with disks',
    unit: 'µs',
    conclave: (cell) => cell('p50 µs', 'three servers, disk', 'Conclave election'),
    others: (cell) => ({ LeaderLatch: cell('p50 µs', 'three servers, disk', 'Curator LeaderLatch') }),
  },
  {
    id: 'shards',
    what: 'An eleventh worker joins ten with 1000 shards: a moved shard has no owner',
    unit: 'ms',
    conclave: (cell) => cell('p50', REPARTITION, 'ms', 'Conclave'),
    others: (cell) => ({ SetPartitioner: cell('p50', REPARTITION, 'ms', 'kazoo SetPartitioner') }),
  },
  {
    id: 'memory',
    what: 'Memory of one of 1000 waiting contenders, a session each',
    unit: 'kB',
    conclave: (cell) => cell('heap and buffers, kB each', 'Conclave, a session each'),
    also: (cell) =>
      `${shown(cell('heap and buffers, kB each', 'Conclave, all on one session'), 'kB')} on a shared session`,
  },
];

/** @param {number} crowd @param {string} pace @param {string} words @returns {Line} */
function handover(crowd, pace, words) {
  /** @param {string} who @returns {(cell: Cell) => number} */
  const p50 = (who) => (cell) => cell('p50 µs', 1, crowd, pace, who);
  return {
    id: 'election-handover',
    what: `A handover of an election ${words}, ${crowd} candidates`,
    unit: 'µs',
    conclave: p50('Conclave election'),
    others: (cell) => ({ LeaderLatch: p50('Curator LeaderLatch')(cell) }),
  };
}

/**
 * The table, and how many bars are met. It leaves out a line if one of its figures is missing.
 *
 * @param {readonly Results[]} runs
 */
export function verdict(runs) {
  const findings = runs.flatMap((run) => run.findings);
  const rows = LINES.flatMap((line) => {
    try {
      return [
        rowOf(
          line,
          findings.find(({ id }) => id === line.id),
        ),
      ];
    } catch (error) {
      if (error instanceof MissingFigure) return [];
      throw error;
    }
  });
  const all = findings.flatMap(({ bars }) => bars);
  return [
    tableOf(['median', 'Conclave', 'others', 'Conclave is'], rows),
    `The project has set itself ${all.length} bars, and meets ${all.filter(isMet).length}: [the others](../bench/results/results.md#bars).\n`,
  ].join('\n');
}

/** @param {Line} line @param {Pick<Finding, 'columns' | 'table'> | undefined} finding */
function rowOf({ what, unit, conclave, also, others }, { table, columns } = { table: [], columns: [] }) {
  /** @type {Cell} */
  const cell = (column, ...values) => {
    const row = table.find((cells) =>
      values.every((value, at) => value === undefined || cells[at] === value),
    );
    const found = row?.[columns.indexOf(column)];
    if (typeof found !== 'number') throw new MissingFigure(`${what}: ${values.join(', ')}`);
    return found;
  };
  const ours = conclave(cell);
  const theirs = Object.entries(others?.(cell) ?? {}).sort(([, a], [, b]) => a - b);
  return [
    what,
    [shown(ours, unit), ...(also ? [also(cell)] : [])].join('; '),
    theirs.map(([name, value]) => `${name} ${shown(value, unit)}`).join(', ') || '–',
    judged(ours, theirs[0]),
  ];
}

/** @param {number} ours @param {[name: string, value: number] | undefined} fastest */
function judged(ours, fastest) {
  if (fastest === undefined) return '–';
  const [name, value] = fastest;
  if (ours < value * (1 - NOISE)) return 'faster';
  return ours > value * (1 + NOISE) ? `slower than ${name}` : `as fast as ${name}`;
}

/** @param {number} value @param {string} unit */
function shown(value, unit) {
  return `${value.toLocaleString('en-US')} ${unit}`;
}
