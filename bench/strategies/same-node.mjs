import { RawClient } from './raw-client.mjs';

/**
 * Everybody tries to create the same node, and leads if that succeeds; else everybody watches it, and when it is gone
 * everybody tries again. Whoever is quickest is next, in no order.
 *
 * @type {import('./contender.js').Strategy}
 */
export const sameNode = async ({ connect, sessionTimeoutMs, path, onLead }) => {
  const client = await RawClient.open(connect, sessionTimeoutMs);
  const node = `${path}/leader`;
  /** @type {'out' | 'waiting' | 'leading'} */
  let state = 'out';
  const attempt = async () => {
    while (state === 'waiting') {
      if (await client.createEphemeral(node)) {
        state = 'leading';
        return onLead(contender);
      }
      // It may be gone again before it is watched; the watch that this leaves then finds nothing left to do.
      if (await client.exists(node, attempt)) return;
    }
  };
  const contender = {
    async join() {
      state = 'waiting';
      await attempt();
    },
    async release() {
      state = 'out';
      await client.remove(node);
    },
    close() {
      state = 'out';
      return client.close();
    },
  };
  return contender;
};
