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
