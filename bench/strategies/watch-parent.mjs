import { RawClient } from './raw-client.mjs';

/**
 * Each contender creates a sequential node and watches the parent's children; the lowest one leads. Each change wakes all
 * contenders, and each of them lists all nodes.
 *
 * @type {import('./contender.js').Strategy}
 */
export const watchParent = async ({ connect, sessionTimeoutMs, path, onLead }) => {
  const client = await RawClient.open(connect, sessionTimeoutMs);
  /** @type {{ name: 'out' } | { name: 'waiting' | 'leading', node: string }} */
  let state = { name: 'out' };
  const look = async () => {
    if (state.name === 'out') return;
    const [first] = (await client.children(path, look)).sort();
    // Each change wakes the leader too, which has nothing to do.
    if (state.name !== 'waiting' || state.node !== first) return;
    state = { name: 'leading', node: first };
    onLead(contender);
  };
  const contender = {
    async join() {
      const created = await client.createSequential(`${path}/node-`);
      state = { name: 'waiting', node: created.slice(path.length + 1) };
      await look();
    },
    async release() {
      if (state.name === 'out') return;
      const { node } = state;
      state = { name: 'out' };
      await client.remove(`${path}/${node}`);
    },
    close() {
      state = { name: 'out' };
      return client.close();
    },
  };
  return contender;
};
