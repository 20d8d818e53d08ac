/** Faults of links and servers. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { deferred, within } from '../../support/waiting.mjs';
import { nextEvent } from '../support/next-event.mjs';

/** @import { Scenario } from '../support/contract.js' */

/** @type {Scenario[]} */
export const connection = [
  {
    id: '1',
    name: 'half-open link: a link without packets is left for another server before the session expires',
    broken: /did not notice .* within 4500 ms/,
    async run(world) {
      const proxies = [await world.proxy(), await world.proxy()];
      const servers = proxies.map(({ connectString }) => connectString).join();
      const client = await world.open(servers, { sessionTimeoutMs: 4500 });
      const suspended = nextEvent(client, 'suspended');
      const resumed = nextEvent(client, 'resumed');
      await client.create(world.path, { mode: 'ephemeral' });
      proxies.find(({ inUse }) => inUse)?.partition();
      await within(4500, suspended, 'the client did not notice that its link is dead');
      await within(4000, resumed, 'the client did not go on to the other server');
      assert.ok(await client.exists(world.path), 'the session expired');
    },
  },
  {
    id: '6',
    name: 'poisoned buffer: half a reply is forgotten with its connection',
    broken: /did not answer over the next connection/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString);
      await client.create(world.path, { mode: 'ephemeral', data: Buffer.alloc(1000, 'x') });
      const broken = proxy.loseReplyTo('getData', { bytes: 100 });
      await assert.rejects(client.getData(world.path));
      await broken;
      const answer = client.getData(world.path);
      const data = await within(4000, answer, 'the client did not answer over the next connection');
      assert.equal(data.length, 1000);
    },
  },
  {
    id: '8',
    name: 'inbound-only traffic: a session that only receives is kept alive',
    broken: /the session expired/,
    async run(world) {
      const observer = await world.observer();
      const watched = Array.from({ length: 100 }, (_, index) => `${world.path}-${index}`);
      await Promise.all(watched.map((path) => observer.create(path, { mode: 'ephemeral' })));
      const client = await world.open(world.connectString, { sessionTimeoutMs: 2000 });
      await client.create(world.path, { mode: 'ephemeral' }); // After this write its server has the others too.
      await Promise.all(watched.map((path) => client.getData(path, () => undefined)));
      // A notification every 40 ms, for more than twice the session timeout.
      for (const path of watched) {
        await observer.setData(path, Buffer.from('changed'));
        await pause(40);
        assert.ok(await observer.exists(world.path), 'the session expired while notifications came in');
      }
    },
  },
  {
    id: '15',
    name: 'handshake: a server that accepts and does not answer is left for another',
    broken: /did not connect .* within 4000 ms/,
    async run(world) {
      const asked = deferred();
      const mute = await world.fakeServer({
        handshake() {
          asked.resolve();
          return new Promise(() => undefined);
        },
      });
      const proxy = await world.proxy();
      // The order of servers is random: the good one refuses until the mute one has been asked.
      proxy.cut();
      const servers = `${mute.connectString},${proxy.connectString}`;
      const { opened } = world.begin(servers, { sessionTimeoutMs: 3000 });
      await within(4000, asked.promise, 'the mute server was not tried');
      proxy.restore();
      const client = await within(4000, opened, 'the client did not connect to the server that answers');
      await client.exists(world.path);
    },
  },
  {
    id: '16',
    name: 'connect() twice: two calls open connections that do not disturb each other',
    broken: /ERR_MISSING_ARGS/,
    async run(world) {
      const proxy = await world.proxy();
      const opening = world.begin(proxy.connectString);
      const [first, second] = await Promise.all([opening.opened, opening.again()]);
      // The bare client takes its second address after up to a second, so this watches for longer than that.
      for (let round = 0; round < 30; round++) {
        await Promise.all([first.exists(world.path), second.exists(world.path)]);
        await pause(50);
      }
      assert.equal(proxy.accepted, 2, 'clients that were asked for twice connected again and again');
      await second.close();
    },
  },
  {
    id: '17',
    name: 'order after reconnect: an operation that waited goes out after the credentials',
    broken: /the operation got NO_AUTH/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString, { credentials: 'alice:secret' });
      await client.create(world.path, { mode: 'ephemeral' });
      const suspended = nextEvent(client, 'suspended');
      proxy.cut();
      await suspended;
      const outcome = client.getData(world.path).then(
        () => 'an answer',
        (error) => error.name,
      );
      proxy.restore();
      const got = await within(4000, outcome, 'the operation did not settle');
      assert.equal(got, 'an answer', `the operation got ${got}`);
    },
  },
];
