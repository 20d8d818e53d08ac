/** Contends with Conclave's lock or election. `README.md` describes the protocol. */
import { DistributedLock, LeaderElector, Session } from 'conclave';
import { failLoudly, obey } from './protocol.mjs';

/**
 * @param {(session: Session, path: string) => import('./protocol.mjs').Contender} contend
 * @param {number} [leases] the number of leases in a session timeout. There are four heartbeats in a lease
 */
const client =
  (contend, leases) => async (/** @type {string} */ connect, /** @type {number} */ sessionTimeoutMs) => {
    const lease = leases === undefined ? {} : { leaseMs: sessionTimeoutMs / leases };
    const session = await Session.connect(connect, { sessionTimeoutMs, ...lease });
    return {
      contender: (/** @type {string} */ path) => contend(session, path),
      close: () => session.close(),
    };
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

/** @param {import('conclave').LeaderElectorOptions} [options] */
const election = (options) => (/** @type {Session} */ session, /** @type {string} */ path) => {
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
};

failLoudly(
  obey({
    lock: client(lock),
    election: client(election()),
    'election-0': client(election({ takeoverDelayMs: 0 })),
    'election-0-rare': client(election({ takeoverDelayMs: 0 }), 1.2),
  }),
);
