import { RawClient } from './raw-client.mjs';

/**
 * Each contender tries to create the same node. The contender that succeeds leads. The others watch the node, and try again
 * when it is deleted: the fastest one is next, in no order.
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
      // The node may be deleted before the watch is set. The watch that remains then has no effect.
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
