/**
 * A replica whose state must not outlive its session: while it leads it keeps a cache in a file, which is valid only until another
 * replica leads. After a lost session the clean-up hook deletes the cache, and only then does the replica join the election again.
 *
 *     npx tsx replica.ts ZOOKEEPER CACHE_FILE
 */
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor } from 'conclave';

const [connect = '', cache = ''] = process.argv.slice(2);

/** Prints a step, and sends it to main.ts, which checks the order. */
function note(step: string) {
  console.log(step);
  process.send?.(step);
}

const supervisor = new ElectionSupervisor({
  connect,
  path: '/examples/cleanup-hook',
  session: { sessionTimeoutMs: 1000 },
  lead: async (term) => {
    const found = existsSync(cache) ? 'still there' : 'absent';
    await writeFile(cache, JSON.stringify({ token: String(term.token) }));
    note(`term begins, cache ${found}`);
    while (term.isHeld()) await sleep(1000, undefined, { signal: term.signal }); // Rejects when the term ends.
  },
  cleanup: async ({ term, reason, attempt }) => {
    if (attempt === 1) {
      note(`hook: the session of term ${term?.number ?? '-'} is lost (${reason}); the first attempt fails`);
      throw new Error('the disk is busy');
    }
    await rm(cache);
    note(`hook: cache dropped at attempt ${attempt}`);
  },
});
for (const event of ['demoted', 'expired', 'cleaned', 'restarting'] as const) {
  supervisor.on(event, () => note(event));
}
supervisor.on('error', (error) => console.error('reported:', error));

supervisor.shutdownOn(['SIGTERM', 'SIGINT']);
process.once('disconnect', () => process.exit(1)); // main.ts has ended.
await supervisor.start();
