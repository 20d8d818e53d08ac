/** Contends with etcd's election. `README.md` describes the protocol. */
import { failLoudly, obey } from './protocol.mjs';

// etcd's own client does the same.
const KEEPALIVES_PER_TTL = 3;

const base64 = (/** @type {string} */ text) => Buffer.from(text).toString('base64');

/** @param {string} connect @param {number} sessionTimeoutMs a whole number of seconds */
async function open(connect, sessionTimeoutMs) {
  /** @param {string} path @param {Record<string, unknown>} question @returns {Promise<any>} */
  const ask = async (path, question) => {
    const response = await fetch(`http://${connect}/v3/${path}`, {
      method: 'POST',
      body: JSON.stringify(question),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  };
  const { ID } = await ask('lease/grant', { TTL: sessionTimeoutMs / 1000 });
  // If a keepalive fails, the next one can still keep the lease, until that runs out.
  const timer = setInterval(
    () => ask('lease/keepalive', { ID }).catch(() => undefined),
    sessionTimeoutMs / KEEPALIVES_PER_TTL,
  );
  const cannot = async () => {
    throw new Error('this program hands nothing over');
  };
  return {
    contender: (/** @type {string} */ path) => ({
      join: () => ask('election/campaign', { name: base64(path), lease: ID, value: base64('contender') }),
      release: cannot,
      leave: cannot,
    }),
    async close() {
      clearInterval(timer);
      await ask('lease/revoke', { ID });
    },
  };
}

failLoudly(obey({ election: open }));
