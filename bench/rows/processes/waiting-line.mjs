/**
 * A process in which many wait in one lock's queue, in one of several ways, and that tells how much memory it takes.
 * Started with --expose-gc.
 */
import { forEach, serve } from '../../harness/child.mjs';

const AT_ONCE = 50;
const COLLECTIONS = 5;

/** What waits, so that nothing of it is collected. @type {unknown[]} */
const kept = [];

/** @typedef {{ connect: string, path: string, count: number, sessionTimeoutMs: number }} Line */

/** Each on a session of its own. @param {Line} line */
async function sessions({ connect, path, count, sessionTimeoutMs }) {
  const { DistributedLock, Session } = await import('conclave');
  return async () => {
    await forEach(count, AT_ONCE, async () => {
      const session = await Session.connect(connect, { sessionTimeoutMs });
      const lock = new DistributedLock(session, path);
      kept.push(session, lock, lock.acquire());
    });
  };
}

/** All on one session. @param {Line} line */
async function shared({ connect, path, count, sessionTimeoutMs }) {
  const { DistributedLock, Session } = await import('conclave');
  return async () => {
    const session = await Session.connect(connect, { sessionTimeoutMs });
    for (let index = 0; index < count; index++) {
      const lock = new DistributedLock(session, path);
      kept.push(lock, lock.acquire());
    }
    kept.push(session);
  };
}

/** The recipe over the bare client: a node, a listing, a watch on the one ahead. @param {Line} line */
async function raw({ connect, path, count, sessionTimeoutMs }) {
  const { RawClient } = await import('../../strategies/raw-client.mjs');
  return async () => {
    await forEach(count, AT_ONCE, async () => {
      const client = await RawClient.open(connect, sessionTimeoutMs);
      const created = await client.createSequential(`${path}/lock-`);
      const node = created.slice(created.lastIndexOf('/') + 1);
      // By number: the one that the parent holds the lock with has the same prefix.
      const children = (await client.list(path)).sort();
      const ahead = children[children.indexOf(node) - 1];
      if (ahead === undefined) throw new Error(`${created} has nobody ahead`);
      const turn = new Promise((resolve) => {
        kept.push(client.exists(`${path}/${ahead}`, () => resolve(undefined)));
      });
      kept.push(client, created, turn);
    });
  };
}

async function memory() {
  for (let round = 0; round < COLLECTIONS; round++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  // `external` includes `arrayBuffers`.
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
  return { bytes: heapUsed + external, heapUsed, external, arrayBuffers, rss };
}

/** @type {(() => Promise<void>) | undefined} */
let fill;
serve({
  prepare: async (/** @type {'sessions' | 'shared' | 'raw'} */ how, /** @type {Line} */ line) => {
    fill = await { sessions, shared, raw }[how](line);
    return await memory();
  },
  fill: () => fill?.(),
  memory,
});
