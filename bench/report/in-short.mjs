/** The published figures in ten lines, for readers who want no tables. */
import { isMet } from '../harness/finding.mjs';

/** @import { Finding } from '../harness/finding.mjs' */
/** @import { Results } from './markdown.mjs' */

/**
 * A list of the most important figures. It leaves out a line if one of its figures is missing.
 *
 * @param {readonly Results[]} runs
 */
export function inShort(runs) {
  const findings = runs.flatMap((run) => run.findings);
  const finding = (/** @type {string} */ id) => findings.find((each) => each.id === id);
  return LINES.flatMap(({ id, say }) => {
    const { table = [], columns = [] } = finding(id) ?? {};
    /** @type {Cell} */
    const cell = (column, ...values) => {
      const row = table.find((cells) =>
        values.every((value, at) => value === undefined || cells[at] === value),
      );
      const found = row?.[columns.indexOf(column)];
      if (typeof found !== 'number') throw new MissingFigure(`${id}: ${values.join(', ')}`);
      return found.toLocaleString('en-US');
    };
    try {
      return [`- ${say(cell)}\n`];
    } catch (error) {
      if (error instanceof MissingFigure) return [];
      throw error;
    }
  })
    .concat(bars(findings))
    .join('');
}

class MissingFigure extends Error {}

/** The figure of a column, in the row that begins with these values. @typedef {(column: string, ...values: (string | number | undefined)[]) => string} Cell */

/** @type {readonly { id: string, say: (cell: Cell) => string }[]} */
const LINES = [
  {
    id: 'host-failover',
    say: (cell) => {
      const p50 = (/** @type {string} */ who) => cell('p50 ms', 'kill -9', 6, who);
      return `**A killed leader** is replaced after ${p50('Conclave')} ms, and after ${p50('Conclave, lease 0.5 s')} ms with a lease of 0.5 s. Curator's LeaderLatch takes ${p50('Curator LeaderLatch')} ms, kazoo's Election ${p50('kazoo Election')}, etcd's election ${p50('etcd election')}. Session timeouts are 6 s.`;
    },
  },
  {
    id: 'host-failover',
    say: (cell) => {
      const p50 = (/** @type {string} */ who) => cell('p50 ms', 'its link is silent, both ways', 6, who);
      return `**A leader whose link falls silent** is replaced after ${p50('Conclave')} ms; LeaderLatch takes ${p50('Curator LeaderLatch')} ms.`;
    },
  },
  {
    id: 'guarded-failover',
    say: (cell) =>
      `**With a guardian** in its parent process a killed leader is replaced after ${cell('p50 ms', 'Conclave, with a guardian', 10_000)} ms, with a session timeout of 10 s, and after ${cell('p50 ms', 'Conclave, with a guardian', 30_000)} ms with one of 30 s.`,
  },
  {
    id: 'election-handover',
    say: (cell) => {
      const p50 = (/** @type {number} */ crowd, /** @type {string} */ who) =>
        cell('p50 µs', 1, crowd, 'after a while', who);
      return `**A handover of an election**, to a candidate that has waited for a while, takes ${p50(15, 'Conclave election')} µs with 15 candidates and ${p50(1000, 'Conclave election')} µs with 1000. LeaderLatch takes ${p50(15, 'Curator LeaderLatch')} and ${p50(1000, 'Curator LeaderLatch')} µs.`;
    },
  },
  {
    id: 'election-handover',
    say: (cell) => {
      const p50 = (/** @type {number} */ crowd, /** @type {string} */ who) =>
        cell('p50 µs', 1, crowd, 'at once', who);
      return `**A handover right after another one** takes ${p50(15, 'Conclave election')} µs with 15 candidates and ${p50(1000, 'Conclave election')} µs with 1000. LeaderLatch takes ${p50(15, 'Curator LeaderLatch')} and ${p50(1000, 'Curator LeaderLatch')} µs.`;
    },
  },
  {
    id: 'uncontended',
    say: (cell) => {
      const p50 = (/** @type {string} */ who) => cell('p50 µs', 'one server, tmpfs', who);
      return `**An uncontended lock** takes ${p50('Conclave lock')} µs on one server in memory; go-zookeeper's takes ${p50('go-zookeeper Lock')}, Curator's ${p50('Curator InterProcessMutex')}, kazoo's ${p50('kazoo Lock')}.`;
    },
  },
  {
    id: 'uncontended',
    say: (cell) => {
      const p50 = (/** @type {string} */ who) => cell('p50 µs', 'three servers, disk', who);
      return `**On three servers with disks** it takes ${p50('Conclave lock')} µs; go-zookeeper's takes ${p50('go-zookeeper Lock')} µs. A term won and left takes ${p50('Conclave election')} µs, with LeaderLatch ${p50('Curator LeaderLatch')}.`;
    },
  },
  {
    id: 'shards',
    say: (cell) => {
      const p50 = (/** @type {string} */ who) =>
        cell('p50', '10 to 11 workers, 1000 pieces: a moved piece has no owner', 'ms', who);
      return `**Shards**: when an eleventh worker joins ten with 1000 shards, a moved shard has no owner for ${p50('Conclave')} ms. With kazoo's SetPartitioner that is ${p50('kazoo SetPartitioner')} ms.`;
    },
  },
  {
    id: 'memory',
    say: (cell) =>
      `**Memory**: one of 1000 waiting contenders takes ${cell('heap and buffers, kB each', 'Conclave, a session each')} kB with a session of its own, and ${cell('heap and buffers, kB each', 'Conclave, all on one session')} kB on a shared one.`,
  },
];

/** @param {readonly Finding[]} findings */
function bars(findings) {
  const all = findings.flatMap((finding) => finding.bars);
  const met = all.filter(isMet).length;
  return [
    `- **${met} of ${all.length} bars** that the project has set itself are met. All others are [listed](#bars).\n`,
  ];
}
