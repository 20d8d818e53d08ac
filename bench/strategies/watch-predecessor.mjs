import { DistributedLock, Session } from 'conclave';

/**
 * Conclave's strategy: each contender creates a sequential node and watches its predecessor.
 *
 * @type {import('./contender.js').Strategy}
 */
export const watchPredecessor = async ({ connect, sessionTimeoutMs, path, onLead }) => {
  const session = await Session.connect(connect, { sessionTimeoutMs });
  const lock = new DistributedLock(session, path);
  /** @type {Promise<import('conclave').LockHold>} */
  let acquiring;
  const contender = {
    /** @returns {Promise<void>} */
    join: () =>
      new Promise((resolve, reject) => {
        acquiring = lock.acquire({ onWaiting: () => resolve() });
        acquiring.then(() => {
          onLead(contender);
          resolve();
        }, reject);
      }),
    release: async () => (await acquiring).release(),
    close: () => session.close(),
  };
  return contender;
};
