/** The settings in which failovers are measured: failures, contestants, sessions and leases. */
import { ETCD } from '../../harness/contestants.mjs';

/**
 * How a leader's process or its link fails. `revoked`: the process is killed, and the benchmark asks the leader to step down again
 * and again.
 *
 * @typedef {'killed' | 'stopped' | 'silent' | 'deaf' | 'both killed' | 'revoked'} Fault
 *
 * @typedef {object} Setting
 * @property {Fault} fault
 * @property {number} sessionMs
 * @property {string} contestant its name in `bench/harness/contestants.mjs`
 * @property {string} who the name in tables
 * @property {{ leaseMs?: number, maxStallMs?: number, settleMs?: number }} [options] other than Conclave's defaults; `settleMs`: how long a leader's work goes on after its term
 */

/** Words for a failure, and how many candidates an election has. @type {Readonly<Record<Fault, { words: string, candidates: number }>>} */
export const FAULTS = {
  killed: { words: 'kill -9', candidates: 2 },
  stopped: { words: 'SIGSTOP', candidates: 2 },
  silent: { words: 'its link is silent, both ways', candidates: 2 },
  deaf: { words: 'its link loses the replies', candidates: 2 },
  'both killed': { words: 'kill -9 of it and of the next candidate', candidates: 3 },
  revoked: { words: 'kill -9, and 10 revocations a second', candidates: 2 },
};

export const SESSION_MS = 6000;
/** The shortest timeout that servers grant with ticks of 2 s, their default. */
export const SHORT_SESSION_MS = 4000;
export const SHORT_LEASES_MS = /** @type {const} */ ([1000, 500]);
export const TICK_MS = 2000;
/** With work that goes on, a leader doesn't release its term when its lease is over. Otherwise it does, even over a link that loses the replies. */
export const BUSY = { settleMs: 60_000 };
export const RIVAL = 'Curator LeaderLatch';

const CONCLAVE = 'Conclave election';
export const PEERS = [RIVAL, 'kazoo Election', ETCD];
export const LOCKS = ['Conclave lock', 'go-zookeeper Lock', 'Curator InterProcessMutex', 'kazoo Lock'];

/**
 * @param {Fault} fault
 * @param {number} sessionMs
 * @param {Setting['options']} [options]
 * @returns {Setting}
 */
export function ofConclave(fault, sessionMs, options) {
  const { leaseMs, maxStallMs, settleMs } = options ?? {};
  const who = [
    'Conclave',
    ...(leaseMs === undefined ? [] : [`lease ${leaseMs / 1000} s`]),
    ...(maxStallMs === undefined ? [] : ['maxStallMs']),
    ...(settleMs === undefined ? [] : ['its work goes on']),
  ].join(', ');
  return { fault, sessionMs, contestant: CONCLAVE, who, ...(options && { options }) };
}

/** @param {Fault} fault @param {number} sessionMs @param {readonly string[]} names @returns {Setting[]} */
function ofOthers(fault, sessionMs, names) {
  return names.map((contestant) => ({ fault, sessionMs, contestant, who: contestant }));
}

/** @param {Fault} fault @param {number} sessionMs @param {readonly number[]} leasesMs */
function shortLeases(fault, sessionMs, leasesMs) {
  return leasesMs.map((leaseMs) => ofConclave(fault, sessionMs, { leaseMs }));
}

/**
 * The settings in waves. Each wave has servers of its own, and contestants that are compared fail in the same wave. A wave has as
 * many settings as two processors can start within seconds.
 *
 * @param {boolean} quick whether to return only the settings that a promise is about
 * @returns {Setting[][]}
 */
export function waves(quick) {
  const [, short] = SHORT_LEASES_MS;
  if (quick)
    return [
      [
        ofConclave('killed', SESSION_MS),
        ...shortLeases('killed', SESSION_MS, [short]),
        ...ofOthers('killed', SESSION_MS, PEERS),
        ofConclave('stopped', SESSION_MS),
        ofConclave('silent', SESSION_MS),
      ],
    ];
  const all = (/** @type {Fault} */ fault) => [
    ofConclave(fault, SESSION_MS),
    ...ofOthers(fault, SESSION_MS, PEERS),
    ...shortLeases(fault, SHORT_SESSION_MS, [short]),
  ];
  return [
    [
      ofConclave('killed', SESSION_MS),
      ...shortLeases('killed', SESSION_MS, SHORT_LEASES_MS),
      ...ofOthers('killed', SESSION_MS, [...PEERS, ...LOCKS]),
      ofConclave('revoked', SESSION_MS),
    ],
    [
      ofConclave('killed', SHORT_SESSION_MS),
      ...shortLeases('killed', SHORT_SESSION_MS, SHORT_LEASES_MS),
      ...ofOthers('killed', SHORT_SESSION_MS, PEERS),
    ],
    [...all('stopped'), ...all('silent')],
    [
      ...all('deaf'),
      ofConclave('deaf', SESSION_MS, BUSY),
      ofConclave('both killed', SESSION_MS),
      ...ofOthers('both killed', SESSION_MS, PEERS),
    ],
  ];
}
