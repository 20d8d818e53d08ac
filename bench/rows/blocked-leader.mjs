import { startServers } from '../harness/servers.mjs';
import { blocks, hangs, nexts } from './blocked-leader/blocks.mjs';
import { besideBusyLoops, collections } from './blocked-leader/busy.mjs';
import { idleLeaders, roundTrips, starts } from './blocked-leader/costs.mjs';
import { failovers } from './blocked-leader/failovers.mjs';
import { report } from './blocked-leader/report.mjs';
import { planOf, TICK_MS } from './blocked-leader/settings.mjs';

/**
 * Measures what a blocked event loop costs a leader, without `maxStallMs` and with it, and what the option costs a leader that
 * isn't blocked.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function blockedLeader({ quick, say }) {
  const plan = planOf(quick);
  const servers = await startServers({ tickMs: TICK_MS });
  const { connect, meter } = servers;
  /** @template T @param {string} what @param {() => Promise<T>} measure */
  const part = async (what, measure) => {
    const found = await measure();
    say(`blocked leader: ${what}`);
    return found;
  };
  try {
    const trips = await part('reads, locks, handovers', () => roundTrips(connect, meter, plan.costs));
    const started = await part('starts', () => starts(connect, plan.starts));
    const idle = await part('idle leaders', () => idleLeaders(connect, plan.costs));
    return report({
      blocks: await part('blocks', () => blocks(connect, plan)),
      hangs: await part('blocks longer than maxStallMs', () => hangs(connect, plan.hangs)),
      nexts: await part('the next in line is blocked', () => nexts(connect, plan.nexts)),
      failovers: await part('failovers', () => failovers(plan.failovers)),
      busy: await part('busy loops', () => besideBusyLoops(connect, plan.busy)),
      collections: plan.hasHeap ? await part('garbage collections', () => collections(connect)) : [],
      costs: { startMs: started.tookMs, rssMb: started.rssMb, ...idle, ...trips },
    });
  } finally {
    await servers.stop();
  }
}
