/** Contends with Conclave's lock or election. `README.md` describes the protocol. */
import { DistributedLock, LeaderElector, Session } from 'conclave';
import { failLoudly, obey } from './protocol.mjs';

/** @param {(session: Session, path: string, options: Record<string, unknown>) => import('./protocol.mjs').Contender} contend */
const client =
  (contend) =>
  /** @type {import('./protocol.mjs').Open} */
  async (connect, sessionTimeoutMs, { leaseMs, maxStallMs, ...options }) => {
    const session = await Session.connect(connect, {
      sessionTimeoutMs,
      ...(typeof leaseMs === 'number' && { leaseMs }),
      ...(typeof maxStallMs === 'number' && { maxStallMs }),
    });
    return { contender: (path) => contend(session, path, options), close: () => session.close() };
  };

/** @param {Session} session @param {string} path */
function lock(session, path) {
  const distributed = new DistributedLock(session, path);
  /** @type {import('conclave').LockHold | undefined} */
  let hold;
  let quit = new AbortController();
  return {
    async join() {
      if (quit.signal.aborted) quit = new AbortController(); // One controller for all cycles, as in a program with a stop signal.
      const { signal } = quit;
      hold = await distributed.acquire({ signal }).catch((error) => {
        if (!signal.aborted) throw error;
        return new Promise(() => undefined); // The contender has left.
      });
    },
    release: async () => await hold?.release(),
    async leave() {
      quit.abort();
      await hold?.release();
    },
  };
}

/**
 * @param {Session} session
 * @param {string} path
 * @param {import('conclave').LeaderElectorOptions & { settleMs?: number }} options `settleMs`: how long a leader's work goes on
 *   after its term
 */
function election(session, path, { settleMs, ...given }) {
  const options = settleMs === undefined ? given : { ...given, lead: workBeyond(settleMs) };
  let elector = new LeaderElector(session, path, options);
  return {
    async join() {
      elector = new LeaderElector(session, path, options);
      const elected = new Promise((resolve) => elector.once('elected', resolve));
      await elector.start();
      await elected;
    },
    release: () => elector.stop(),
    leave: () => elector.stop(),
  };
}

/** @param {number} settleMs @returns {(term: import('conclave').Term) => Promise<unknown>} */
function workBeyond(settleMs) {
  return async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await new Promise((resolve) => setTimeout(resolve, settleMs));
  };
}

failLoudly(obey({ lock: client(lock), election: client(election) }));
