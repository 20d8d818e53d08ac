/** Closing, in every state of the client. */
import assert from 'node:assert/strict';
import { deferred, until, within } from '../../support/waiting.mjs';
import { nextEvent } from '../support/next-event.mjs';

/** @import { Scenario } from '../support/contract.js' */

/** @type {Scenario[]} */
export const closing = [
  {
    id: '5a',
    name: 'close(): a client that is given up at once does no harm',
    broken: /Cannot read properties of undefined \(reading 'write'\)/,
    async run(world) {
      const { opened, giveUp } = world.begin(world.connectString);
      giveUp();
      await assert.rejects(
        within(4000, opened, 'the caller that waited for the client was not answered'),
        /given up/,
      );
    },
  },
  {
    id: '5b',
    name: 'close(): a client that is given up during the handshake does no harm',
    broken: /Unknown code: 4660/,
    async run(world) {
      const asked = deferred();
      /** @type {ReturnType<typeof deferred<number>>} */
      const timeoutMs = deferred();
      const server = await world.fakeServer({
        handshake() {
          asked.resolve();
          return timeoutMs.promise;
        },
      });
      const { opened, giveUp } = world.begin(server.connectString);
      await within(4000, asked.promise, 'the client did not connect');
      giveUp();
      timeoutMs.resolve(60_000);
      await assert.rejects(
        within(4000, opened, 'the caller that waited for the client was not answered'),
        /given up/,
      );
      await within(
        4000,
        until(() => !server.inUse),
        'the connection was not closed',
      );
    },
  },
  {
    id: '5c',
    name: 'close(): a listener of the loss may call it, and the session ends at the servers',
    broken: /the session lived on/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString);
      await client.create(world.path, { mode: 'ephemeral' });
      const closed = deferred();
      client.once('suspended', () => void client.close().then(closed.resolve));
      proxy.dropConnections();
      await within(4000, closed.promise, 'close() did not settle');
      await world.gone(3000, 'the session lived on, its node did not go');
    },
  },
  {
    id: '5d',
    name: 'close(): during a reconnect it ends the session at the servers',
    broken: /the session lived on/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString);
      await client.create(world.path, { mode: 'ephemeral' });
      const suspended = nextEvent(client, 'suspended');
      proxy.cut();
      await suspended;
      const closed = client.close();
      proxy.restore();
      await within(4000, closed, 'close() did not settle');
      await world.gone(3000, 'the session lived on, its node did not go');
    },
  },
  {
    id: '5e',
    name: 'close(): on a dead link it ends in time',
    broken: /close\(\) did not settle within 4000 ms/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString);
      proxy.partition();
      // The promise is 2 s. The rest is for a busy machine.
      await within(4000, client.close(), 'close() did not settle');
    },
  },
];
