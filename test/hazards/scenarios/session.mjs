/** How a session ends, and how that is reported. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { within } from '../../support/waiting.mjs';
import { ERROR } from '../../support/wire/protocol.mjs';
import { codeOf } from '../support/code-of.mjs';
import { nextEvent } from '../support/next-event.mjs';
import { sessionPassword } from '../support/password.mjs';

/** @import { Client, Scenario } from '../support/contract.js' */

/** @type {Scenario[]} */
export const session = [
  {
    id: '2',
    name: 'blocked loop: the first line after a stall knows that the node may be gone',
    broken: /takes the node for its own/,
    async run(world) {
      const client = await world.open(world.connectString, { sessionTimeoutMs: 2400 });
      const { node, isHeld } = await client.hold(world.path);
      assert.ok(isHeld(), 'the client did not take the node for its own when it had created it');
      stall(4000);
      const heldAfterStall = isHeld();
      await world.gone(5000, 'the servers did not end the session', node);
      assert.equal(heldAfterStall, false, 'after the stall the client takes the node for its own');
    },
  },
  {
    id: '3',
    name: 'expiry: what is asked after the expiry is refused as expired',
    broken: /refused with CONNECTION_LOSS/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString, { sessionTimeoutMs: 1500 });
      await client.create(world.path, { mode: 'ephemeral' });
      proxy.cut();
      await world.gone(5000, 'the servers did not end the session');
      const expired = nextEvent(client, 'expired');
      proxy.restore();
      await within(4000, expired, 'the client did not say that its session has expired');
      await refusesAsExpired(client, world.path);
    },
  },
  {
    id: '23a',
    name: 'SESSION_MOVED, wrong password: a session that another client took over and closed has expired',
    broken: /refused with CONNECTION_LOSS/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString);
      const expired = nextEvent(client, 'expired');
      await client.create(world.path, { mode: 'ephemeral' });
      const observer = await world.observer();
      const id = (await observer.exists(world.path))?.ephemeralOwner ?? 0n;
      proxy.cut(); // Or the two would take the session from each other in turn.
      await takeOverAndClose(world.connectString, id);
      await world.gone(4000, 'the session was not closed');
      proxy.restore();
      await within(4000, expired, 'the client did not say that its session has expired');
      await refusesAsExpired(client, world.path);
    },
  },
  {
    id: '23b',
    name: "SESSION_MOVED, wrong password: the servers' word for it leads to the expiry",
    broken: /Unknown code: -118/,
    async run(world) {
      const server = await world.fakeServer({
        handshake: (connection) => (connection === 1 ? 60_000 : 0),
        answer: () => ({ code: ERROR.sessionMoved }),
      });
      const client = await world.open(server.connectString);
      const expired = nextEvent(client, 'expired');
      await assert.rejects(client.exists(world.path));
      await within(4000, expired, 'the client did not say that its session has expired');
    },
  },
];

/**
 * Lets nothing else run in this process.
 *
 * @param {number} ms
 */
function stall(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * Checks that the client knows the end of its session also a while later, when the last connection is gone.
 *
 * @param {Client} client
 * @param {string} path
 */
async function refusesAsExpired(client, path) {
  for (let round = 0; round < 50; round++) {
    const code = await codeOf(client.exists(path));
    assert.equal(code, 'SESSION_EXPIRED', `an operation after the expiry was refused with ${code}`);
    await pause(20);
  }
}

/**
 * Attaches to a session as its own client does after a reconnect, and closes it.
 *
 * @param {string} connectString
 * @param {bigint} id
 */
async function takeOverAndClose(connectString, id) {
  const sessionId = Buffer.alloc(8);
  sessionId.writeBigInt64BE(id);
  // The bare client takes an existing session; Conclave's doesn't.
  const { createClient } = createRequire(import.meta.url)('node-zookeeper-client');
  const taker = createClient(connectString, { sessionId, sessionPassword: sessionPassword(id) });
  const connected = new Promise((resolve) => taker.once('connected', resolve));
  taker.connect();
  await within(4000, connected, 'the session could not be taken over');
  const disconnected = new Promise((resolve) => taker.once('disconnected', resolve));
  taker.close();
  await within(4000, disconnected, 'the session could not be closed');
}
