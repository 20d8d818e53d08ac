/** Failovers of leaders that aren't blocked, as in the row `host-failover`. */
import { CONTESTANTS } from '../../harness/contestants.mjs';
import { failTogether } from '../host-failover/fail-together.mjs';
import { unmeasured } from '../host-failover/report.mjs';
import { ofConclave } from '../host-failover/settings.mjs';
import { LEASE_MS, MAX_STALL_MS, SESSION_MS, WAYS } from './settings.mjs';

/** @import { Failovers } from '../host-failover/report.mjs' */
/** @import { Way } from './settings.mjs' */

export const FAULTS = /** @type {const} */ (['killed', 'stopped']);
/** @typedef {Failovers & { fault: typeof FAULTS[number], way: Way }} Beside */

/** @param {{ rounds: number, elections: number }} plan @returns {Promise<Beside[]>} */
export async function failovers({ rounds, elections }) {
  const wave = FAULTS.flatMap((fault) =>
    WAYS.map((way) => {
      const options = { leaseMs: LEASE_MS, ...(way === 'with' && { maxStallMs: MAX_STALL_MS }) };
      return { fault, way, ...unmeasured(ofConclave(fault, SESSION_MS, options)) };
    }),
  );
  const contestants = CONTESTANTS.filter(({ name }) =>
    wave.some(({ setting }) => setting.contestant === name),
  );
  const found = contestants.map((each) => ({ ...each, command: each.command() }));
  for (let round = 0; round < rounds; round++)
    await failTogether(wave, found, { elections, phase: round / rounds });
  return wave;
}
