/**
 * Two replicas, and an embedded ZooKeeper for them. The first one leads and computes for five seconds, in the way that the
 * argument names: `block`, `pieces`, `thread`, `thread-and-block`, `long-lease` or `watchdog`.
 *
 *     node main.mjs block
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { EmbeddedZooKeeper } from 'conclave/testing';

process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const [way = 'block', computeMs = '5000'] = process.argv.slice(2);
const server = await EmbeddedZooKeeper.start();
/** @param {'A' | 'B'} name */
const startReplica = (name) =>
  fork(new URL('replica.mjs', import.meta.url), [name, way, server.connectString, computeMs]);

const a = startReplica('A');
const ended = once(a, 'exit').then(([code, signal]) => say(`A has ended: ${signal ?? `exit code ${code}`}`));
await once(a, 'message'); // It leads.
const b = startReplica('B');
await once(b, 'message'); // It waits.
const since = Date.now();
/** @param {unknown} text */
const say = (text) => console.log(`${((Date.now() - since) / 1000).toFixed(1)} s  ${text}`);
for (const replica of [a, b]) replica.on('message', say);
const replaced = new Promise((resolve) => b.on('message', (text) => text === 'B leads' && resolve(text)));
a.send('compute');
await Promise.all([ended, replaced]);
b.kill();
await once(b, 'exit');
await server.stop();
