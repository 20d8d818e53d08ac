/** Watches, and the caller's own functions. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { deferred, within } from '../../support/waiting.mjs';
import { EMPTY_NODE, notification, reply, STAT } from '../../support/wire/fake-server.mjs';
import { OPERATION } from '../../support/wire/protocol.mjs';
import { nextEvent } from '../support/next-event.mjs';

/**
 * @import { Session, TransactionPart } from 'conclave'
 * @import { Scenario } from '../support/contract.js'
 */

/** @type {Scenario[]} */
export const watches = [
  {
    id: '9a',
    name: 'exceptions in callbacks: a listener of the loss that throws does not keep it from reconnecting',
    broken: /did not reconnect within 4000 ms/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString);
      outliveExceptions();
      client.once('suspended', () => {
        throw new Error('not now');
      });
      const resumed = nextEvent(client, 'resumed');
      proxy.dropConnections();
      await within(4000, resumed, 'the client did not reconnect');
    },
  },
  {
    id: '9b',
    name: 'exceptions in callbacks: a listener of the reconnection that throws does not stop heartbeats',
    broken: /the session expired/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString, { sessionTimeoutMs: 2000 });
      await client.create(world.path, { mode: 'ephemeral' });
      const observer = await world.observer();
      outliveExceptions();
      const resumed = deferred();
      client.once('resumed', () => {
        resumed.resolve();
        throw new Error('not now');
      });
      proxy.dropConnections();
      await within(4000, resumed.promise, 'the client did not reconnect');
      for (let round = 0; round < 40; round++) {
        await pause(100);
        assert.ok(await observer.exists(world.path), 'the session expired after the exception');
      }
    },
  },
  {
    id: '9c',
    name: 'exceptions in callbacks: a watcher that throws does not hold up the replies behind it',
    broken: /did not get the reply .* within 2000 ms/,
    async run(world) {
      const server = await world.fakeServer({
        answer({ xid, type, send }) {
          if (type === OPERATION.getData) return { body: EMPTY_NODE };
          // The notification and the reply after it, in one piece.
          send(Buffer.concat([notification('/a'), reply(xid, { body: STAT })]));
          return undefined;
        },
      });
      const client = await world.open(server.connectString);
      outliveExceptions();
      await client.getData('/a', () => {
        throw new Error('not now');
      });
      await within(2000, client.exists('/a'), 'the client did not get the reply behind the notification');
    },
  },
  {
    id: '12',
    name: 'many watches: more than fit one request are set again at the next connection',
    broken: /was not notified of a change/,
    async run(world) {
      const observer = await world.observer();
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString, { sessionTimeoutMs: 60_000 });
      // 1.7 MB of paths, while a server takes requests of up to 1 MB. With short paths the test would need more watches, and more time.
      const paths = Array.from({ length: 2000 }, (_, index) => `${world.path}-${index}-`.padEnd(850, 'x'));
      const notified = deferred();
      await inPortions(paths, (path) => ({ kind: 'create', path }), observer);
      try {
        await client.create(world.path, { mode: 'ephemeral' }); // After this write its server has them all.
        await Promise.all(paths.map((path) => client.getData(path, () => notified.resolve())));
        const resumed = nextEvent(client, 'resumed');
        proxy.dropConnections();
        await within(4000, resumed, 'the client did not reconnect');
        await observer.setData(paths[1000] ?? '', Buffer.from('changed'));
        await within(4000, notified.promise, 'the client was not notified of a change');
      } finally {
        await inPortions(paths, (path) => ({ kind: 'delete', path }), observer);
      }
    },
  },
  {
    id: '13',
    name: 'watcher leak: a wait that was given up is forgotten',
    broken: /2000 were notified/,
    async run(world) {
      const client = await world.open(world.connectString);
      await client.create(world.path, { mode: 'ephemeral' });
      const observer = await world.observer();
      const rounds = 2000;
      const last = deferred();
      let notified = 0;
      const waits = [];
      /** @type {AbortController[]} */
      const givenUp = [];
      for (let round = 1; round <= rounds; round++) {
        const wait = new AbortController();
        const onChange = () => {
          notified++;
          if (round === rounds) last.resolve();
        };
        waits.push(client.getData(world.path, onChange, wait.signal));
        if (round < rounds) givenUp.push(wait);
      }
      await Promise.all(waits);
      for (const wait of givenUp) wait.abort();
      await observer.setData(world.path, Buffer.from('changed'));
      await within(4000, last.promise, 'the wait that was not given up was not notified');
      assert.equal(notified, 1, `of ${rounds} waits, all but one given up, ${notified} were notified`);
    },
  },
];

/** From now on this process survives uncaught exceptions, like an application that logs them and goes on. */
function outliveExceptions() {
  process.on('uncaughtException', () => undefined);
}

/**
 * Does the same with each path, many in one transaction: one at a time takes long.
 *
 * @param {string[]} paths
 * @param {(path: string) => TransactionPart} part
 * @param {Session} session
 */
async function inPortions(paths, part, session) {
  const length = 200;
  const portions = Array.from({ length: Math.ceil(paths.length / length) }, (_, index) =>
    paths.slice(index * length, (index + 1) * length),
  );
  await Promise.all(portions.map((portion) => session.commit(portion.map(part))));
}
