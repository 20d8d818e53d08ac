/**
 * A lock on node-zookeeper-client without a library: the bare recipe, without protection against lost replies, connections or
 * sessions. `README.md` describes the protocol.
 */
import { RawClient } from '../strategies/raw-client.mjs';
import { failLoudly, obey } from './protocol.mjs';

/** Paths that were created. @type {Map<string, Promise<void>>} */
const parents = new Map();

/** @param {any} error */
function unlessThere(error) {
  if (error.name !== 'NODE_EXISTS') throw error;
}

/** @param {RawClient} client @param {string} path */
function lock(client, path) {
  /** @type {string | undefined} */
  let own;
  return {
    async join() {
      await (parents.get(path) ??
        parents.set(path, client.createPersistent(path).catch(unlessThere)).get(path));
      own = await client.createSequential(`${path}/n-`);
      const name = own.slice(path.length + 1);
      for (;;) {
        const queue = (await client.children(path)).sort();
        const ahead = queue[queue.indexOf(name) - 1];
        if (ahead === undefined) return;
        await new Promise((resolve) => {
          void client
            .exists(`${path}/${ahead}`, () => resolve(undefined))
            .then((there) => !there && resolve(undefined));
        });
      }
    },
    async release() {
      if (own !== undefined) await client.remove(own);
      own = undefined;
    },
    async leave() {
      if (own !== undefined) await client.remove(own);
      own = undefined;
    },
  };
}

/** @param {string} connect @param {number} sessionTimeoutMs */
async function open(connect, sessionTimeoutMs) {
  const client = await RawClient.open(connect, sessionTimeoutMs);
  return { contender: (/** @type {string} */ path) => lock(client, path), close: () => client.close() };
}

failLoudly(obey({ lock: open }));
