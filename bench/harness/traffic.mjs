/** @import { Traffic } from '../../test/support/faults/traffic.mjs' */

/** The requests of some connections by kind. @param {readonly Pick<Traffic, 'requests'>[]} lines @returns {Record<string, number>} */
export function totals(lines) {
  /** @type {Record<string, number>} */
  const all = {};
  for (const { requests } of lines)
    for (const [operation, count] of Object.entries(requests)) all[operation] = (all[operation] ?? 0) + count;
  return all;
}

/**
 * The number of a session's existence probes that replaced a ping. A ping is due after each `everyMs` milliseconds. No more probes
 * count than pings would have been due since the session was opened. Further probes have other reasons.
 *
 * @param {Pick<Traffic, 'openedAt' | 'probesAt'>} line since it was opened
 * @param {number} everyMs
 */
export function probesInPlaceOfPings({ openedAt, probesAt }, everyMs) {
  return probesAt.reduce((count, at) => count + Number(at >= openedAt + (count + 1) * everyMs), 0);
}

/**
 * The number of heartbeats (multis) in a lease. It counts whole periods, so that the result doesn't depend on when the counting began.
 *
 * @param {readonly number[]} at when they passed @param {number} leaseMs
 */
export function heartbeatsPerLease(at, leaseMs) {
  const first = at[0] ?? Number.NaN;
  const last = at.at(-1) ?? Number.NaN;
  return leaseMs / ((last - first) / (at.length - 1));
}
