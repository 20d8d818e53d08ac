/**
 * A process with many contenders of one kind in one lock's queue. It reports its memory. Runs with --expose-gc.
 */
import { forEach, serve } from '../../harness/child.mjs';

const AT_ONCE = 50;
const COLLECTIONS = 5;

/** The contenders, so that none of them is garbage-collected. @type {unknown[]} */
const kept = [];

/** @typedef {{ connect: string, path: string, count: number, sessionTimeoutMs: number }} Line */

/** Contenders with a session each. @param {Line} line */
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

/** Contenders that share one session. @param {Line} line */
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

/** The recipe on node-zookeeper-client: a node, a listing, a watch on the predecessor. @param {Line} line */
async function raw({ connect, path, count, sessionTimeoutMs }) {
  const { RawClient } = await import('../../strategies/raw-client.mjs');
  return async () => {
    await forEach(count, AT_ONCE, async () => {
      const client = await RawClient.open(connect, sessionTimeoutMs);
      const created = await client.createSequential(`${path}/lock-`);
      const node = created.slice(created.lastIndexOf('/') + 1);
      // This sorts by number, because all names have the same prefix, also that of the parent process, which holds the lock.
      const children = (await client.children(path)).sort();
      const ahead = children[children.indexOf(node) - 1];
      if (ahead === undefined) throw new Error(`${created} has no predecessor`);
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
