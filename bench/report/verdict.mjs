/** The promises, and the published medians of Conclave beside its peers, for readers who want no other figures. */
import { AWAY } from '../harness/links.mjs';
import { figuresOf } from './figures.mjs';
import { promisesTable, tableOf } from './markdown.mjs';
import { judged, timesLatch } from './promises.mjs';

/** @import { Results } from './markdown.mjs' */

/**
 * @typedef {object} Line medians of one row
 * @property {string} id of the finding
 * @property {string} what
 * @property {string} unit
 * @property {string} column
 * @property {readonly (string | number)[]} where the cells before the name of the contestant
 * @property {string} ours
 * @property {Record<string, string>} others contestants by the names that the table has
 */

/** Two figures that differ by less are equal: see "Noise" in `docs/benchmarks.md`. */
const NOISE = 0.1;
/** In the tables of handovers. */
const ELSEWHERE = `1, ${AWAY}`;
const LATCH = { LeaderLatch: 'Curator LeaderLatch' };
const ELECTION = { unit: 'µs', column: 'p50 µs', ours: 'Conclave election', others: LATCH };
const LOCK = { id: 'uncontended', unit: 'µs', column: 'p50 µs', ours: 'Conclave lock' };
const GO = { 'go-zookeeper': 'go-zookeeper Lock' };

/** @type {readonly Line[]} */
const LINES = [
  {
    id: 'host-failover',
    what: 'A killed leader is replaced, session timeout 6 s',
    unit: 'ms',
    column: 'p50 ms',
    where: ['kill -9', 6],
    ours: 'Conclave',
    others: { ...LATCH, kazoo: 'kazoo Election', etcd: 'etcd election' },
  },
  handover(1, 15, 'after a while', 'A planned handover of an election, 15 candidates'),
  handover(ELSEWHERE, 15, 'after a while', 'The same, 1 ms away'),
  handover(1, 1000, 'after a while', 'The same, 1000 candidates'),
  handover(1, 15, 'at once', 'A handover right after another one, 15 candidates'),
  {
    ...LOCK,
    what: 'Uncontended lock, one server in memory',
    where: ['one server, tmpfs'],
    others: { ...GO, Curator: 'Curator InterProcessMutex', kazoo: 'kazoo Lock' },
  },
  { ...LOCK, what: 'The same, 1 ms away', where: [`one server, tmpfs, ${AWAY}`], others: GO },
  { ...LOCK, what: 'The same, three servers with disks', where: ['three servers, disk'], others: GO },
  {
    ...ELECTION,
    id: 'uncontended',
    what: 'A term won and left, three servers with disks',
    where: ['three servers, disk'],
  },
  {
    id: 'shards',
    what: 'An eleventh worker joins ten with 1000 shards: a moved shard has no owner',
    unit: 'ms',
    column: 'p50',
    where: ['10 to 11 workers, 1000 pieces: a moved piece has no owner', 'ms'],
    ours: 'Conclave',
    others: { SetPartitioner: 'kazoo SetPartitioner' },
  },
];

/** @param {string | number} servers @param {number} crowd @param {string} pace @param {string} what @returns {Line} */
function handover(servers, crowd, pace, what) {
  return { ...ELECTION, id: 'election-handover', what, where: [servers, crowd, pace] };
}

/**
 * Which promises are kept, how much slower a planned handover is, and the medians. It leaves out figures that are missing.
 *
 * @param {readonly Results[]} runs
 */
export function verdict(runs) {
  const findings = runs.flatMap((run) => run.findings);
  const rows = LINES.map((line) =>
    figuresOf(findings, line.id, ({ cell }) => {
      const of = (/** @type {string} */ who) => cell(line.column, ...line.where, who);
      return rowOf(
        line,
        of(line.ours),
        Object.entries(line.others).map(([name, who]) => [name, of(who)]),
      );
    }),
  );
  const times = (/** @type {string | number} */ servers) =>
    figuresOf(findings, 'election-handover', ({ cell }) => timesLatch(cell, servers));
  const away = times(ELSEWHERE);
  return [
    promisesTable(judged(findings)),
    `A planned handover takes ${times(1) ?? '–'} times as long as with Curator's LeaderLatch${away === undefined ? '' : `, and ${away} times between hosts that are ${AWAY}`}: the next leader first proves its term, which is one more write.\n`,
    tableOf(
      ['median', 'Conclave', 'others', 'Conclave is'],
      rows.flatMap((row) => (row === undefined ? [] : [row])),
    ),
  ].join('\n');
}

/** @param {Line} line @param {number} ours @param {[name: string, value: number][]} others */
function rowOf({ what, unit }, ours, others) {
  const theirs = others.sort(([, a], [, b]) => a - b);
  return [
    what,
    shown(ours, unit),
    theirs.map(([name, value]) => `${name} ${shown(value, unit)}`).join(', '),
    compared(ours, .../** @type {[string, number]} */ (theirs[0])),
  ];
}

/** @param {number} ours @param {string} fastest @param {number} theirs */
function compared(ours, fastest, theirs) {
  if (ours < theirs * (1 - NOISE)) return 'faster';
  return ours > theirs * (1 + NOISE) ? `slower than ${fastest}` : `as fast as ${fastest}`;
}

/** @param {number} value @param {string} unit */
function shown(value, unit) {
  return `${value.toLocaleString('en-US')} ${unit}`;
}
