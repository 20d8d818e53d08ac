/** Single operations and their outcomes. */
import assert from 'node:assert/strict';
import { within } from '../../support/waiting.mjs';
import { reply, STAT } from '../../support/wire/fake-server.mjs';
import { ERROR, OPERATION } from '../../support/wire/protocol.mjs';
import { codeOf } from '../support/code-of.mjs';
import { nextEvent } from '../support/next-event.mjs';

/** @import { Scenario } from '../support/contract.js' */

// A container's owner is the smallest of all numbers.
const CONTAINER_OWNER = -(2n ** 63n);

/** @type {Scenario[]} */
export const operations = [
  {
    id: '4a',
    name: 'unsent operations: one that waits for a connection is refused when the session expires',
    broken: /the operation did not settle within 2000 ms/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString, { sessionTimeoutMs: 2500 });
      await client.create(world.path, { mode: 'ephemeral' });
      const suspended = nextEvent(client, 'suspended');
      const expired = nextEvent(client, 'expired');
      proxy.cut();
      await suspended;
      await world.gone(5000, 'the servers did not end the session');
      const code = codeOf(client.create(`${world.path}-late`));
      proxy.restore();
      await within(4000, expired, 'the client did not say that its session has expired');
      assert.equal(await within(2000, code, 'the operation did not settle'), 'SESSION_EXPIRED');
      const observer = await world.observer();
      assert.equal(await observer.exists(`${world.path}-late`), undefined, 'it was done in another session');
    },
  },
  {
    id: '4b',
    name: 'unsent operations: one that no server can take is given up in time',
    broken: /the operation did not settle within 4000 ms/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString, { sessionTimeoutMs: 1000 });
      const suspended = nextEvent(client, 'suspended');
      proxy.cut();
      await suspended;
      const code = codeOf(client.exists(world.path));
      assert.equal(await within(4000, code, 'the operation did not settle'), 'OPERATION_TIMEOUT');
    },
  },
  {
    id: '7',
    name: 'unknown error code: one that was new in ZooKeeper 3.7 is the error of its operation',
    broken: /Unknown code: -125/,
    async run(world) {
      const server = await world.fakeServer({
        answer: ({ type }) => (type === OPERATION.setData ? { code: ERROR.quotaExceeded } : { body: STAT }),
      });
      const client = await world.open(server.connectString);
      assert.equal(await codeOf(client.setData('/full', Buffer.from('x'))), 'QUOTA_EXCEEDED');
      assert.ok(await client.exists('/full'));
    },
  },
  {
    id: '10',
    name: 'transaction, version 0: it is a version as every other',
    broken: /done at version 1: check,set,delete/,
    async run(world) {
      const client = await world.open(world.connectString);
      const { path } = world;
      await client.create(path, { mode: 'ephemeral' });
      await client.setData(path, Buffer.from('version 1'));
      /** @type {import('conclave').TransactionPart[]} */
      const parts = [
        { kind: 'check', path, version: 0 },
        { kind: 'set', path, data: Buffer.from('x'), version: 0 },
        { kind: 'delete', path, version: 0 },
      ];
      const codes = await Promise.all(parts.map((part) => codeOf(client.commit([part]))));
      const done = parts.filter((_, index) => codes[index] !== 'BAD_VERSION').map(({ kind }) => kind);
      assert.deepEqual(done, [], `for version 0, and done at version 1: ${done}`);
    },
  },
  {
    id: '11',
    name: 'retries: a lost reply to a sequential create leaves one node',
    broken: /2 nodes for one place/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString, { retries: 1 });
      await client.create(world.path);
      const lost = proxy.loseReplyTo('create', { text: 'lock-' });
      await client.enqueue(world.path);
      await lost;
      const observer = await world.observer();
      const nodes = await observer.getChildren(world.path);
      assert.equal(nodes.length, 1, `${nodes.length} nodes for one place in the queue`);
      await client.close();
      await observer.remove(world.path);
    },
  },
  {
    id: '19',
    name: 'xid: requests go on after the last number that there is',
    broken: /out of range/,
    async run(world) {
      /** @type {number[]} */
      const xids = [];
      const server = await world.fakeServer({
        answer({ xid, type }) {
          if (type === OPERATION.exists) xids.push(xid);
          return { body: STAT };
        },
      });
      const client = await world.open(server.connectString);
      const { lastXid } = client;
      await client.countRequestsFrom(lastXid - 1);
      for (let request = 0; request < 4; request++) await client.exists('/a');
      assert.deepEqual(xids, [lastXid - 1, lastXid, 1, 2]);
    },
  },
  {
    id: '20',
    name: 'parse cost: a byte is copied a few times at most, however many replies come at once',
    broken: /each byte was copied \d{2,} times/,
    async run(world) {
      const requests = 1000;
      /** @type {number[]} */
      const xids = [];
      let received = 0;
      let copied = () => 0;
      const server = await world.fakeServer({
        answer({ xid, type, send }) {
          if (type !== OPERATION.exists) return {};
          if (xids.push(xid) < requests) return undefined;
          // All at once, so that input is read in chunks of up to 64 KB, with hundreds of replies in each.
          const replies = Buffer.concat(xids.map((each) => reply(each, { body: STAT })));
          received = replies.length;
          copied = countCopiedBytes();
          send(replies);
          return undefined;
        },
      });
      const client = await world.open(server.connectString);
      await Promise.all(Array.from({ length: requests }, () => client.exists('/a')));
      const times = Math.round(copied() / received);
      assert.ok(times < 5, `each byte was copied ${times} times`);
    },
  },
  {
    id: '21',
    name: 'create modes: a container is a container or refused, and nothing else',
    broken: /got a plain node/,
    async run(world) {
      const client = await world.open(world.connectString);
      const code = await codeOf(client.create(world.path, { mode: 'container' }));
      const observer = await world.observer();
      const stat = await observer.exists(world.path);
      if (code === 'none') await observer.remove(world.path);
      const made = stat === undefined ? code : stat.ephemeralOwner;
      const got = made === 0n ? 'a plain node' : made;
      assert.ok(got === 'INVALID_OPTION' || got === CONTAINER_OWNER, `asked for a container, got ${got}`);
    },
  },
  {
    id: '22',
    name: "missing: a stat's 64-bit numbers can be compared",
    broken: /czxid is an object/,
    async run(world) {
      const client = await world.open(world.connectString);
      await client.create(world.path, { mode: 'ephemeral' });
      const stat = await client.exists(world.path);
      assert.equal(typeof stat?.czxid, 'bigint', `czxid is an ${typeof stat?.czxid}`);
      assert.equal(stat?.czxid, (await client.exists(world.path))?.czxid);
    },
  },
];

/** Counts the bytes that JavaScript code asks to copy, from now on. Returns a function that ends the count and returns it. */
function countCopiedBytes() {
  let bytes = 0;
  /**
   * @param {any} owner
   * @param {string} name
   * @param {(result: any, given: any) => number} bytesOf
   */
  const count = (owner, name, bytesOf) => {
    const original = owner[name];
    owner[name] = function (/** @type {any[]} */ ...args) {
      const result = original.apply(this, args);
      bytes += bytesOf(result, args[0]);
      return result;
    };
    return () => {
      owner[name] = original;
    };
  };
  const ends = [
    count(Buffer, 'concat', (result) => result.length),
    count(Buffer.prototype, 'copy', (result) => result),
    count(Uint8Array.prototype, 'set', (_, given) => given.length),
  ];
  return () => {
    for (const end of ends) end();
    return bytes;
  };
}
