/**
 * A worker that loads before it acts as the leader, and reports to its parent. Arguments: servers, path, how it loads. `prepare`: before it
 * leads, and a leader waits for that; `lead`: at the beginning of its term; `nothing`: not at all.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ElectionSupervisor } from 'conclave';

const LOAD_MS = 1500;
const ACT_EVERY_MS = 5;

const [connect = '', path = '', loads = ''] = process.argv.slice(2);
// A monotonic clock that all processes of a machine share.
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** @param {import('conclave').Term} term */
async function act(term) {
  let actedAt = 0;
  while (term.isHeld()) {
    if (actedAt === 0) process.send?.({ firstActAt: nowMs() });
    actedAt = nowMs();
    await pause(ACT_EVERY_MS);
  }
  process.send?.({ lastActAt: actedAt });
}

/** @param {AbortSignal} signal */
async function load(signal) {
  await pause(LOAD_MS, undefined, { signal });
  process.send?.('loaded');
}

const supervisor = new ElectionSupervisor({
  connect,
  path,
  ...(loads === 'prepare' && {
    prepare: ({ signal }) => load(signal),
    waitForPreparedMs: 5000,
  }),
  lead: async (term) => {
    if (loads === 'lead') await load(term.signal);
    await act(term);
  },
});
supervisor.on('error', (error) => console.error(error));
process.on('message', async () => {
  await supervisor.stop();
  process.exit();
});
await supervisor.start();
process.send?.('joined');
