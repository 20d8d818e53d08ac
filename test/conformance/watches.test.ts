import { describe, expect, it } from 'vitest';
import {
  auth,
  CREATOR_ALL,
  create,
  exists,
  getChildren,
  getChildren2,
  getData,
  MODE,
  multi,
  OPEN,
  type Operation,
  PERMISSION,
  ping,
  remove,
  removeWatches,
  setAcl,
  setData,
  setWatches,
  WATCH,
  world,
} from '../support/wire/operations.js';
import { ERROR } from '../support/wire/protocol.mjs';
import { forEachServer, freshPath, type TestServer } from './support/servers.js';

/** A client that watches, a client that changes things, and a node. */
async function watcherAndWriter(server: TestServer, { node = true } = {}) {
  const watcher = await server.connect();
  const writer = await server.connect();
  const path = freshPath();
  if (node) await writer.do(create(path));
  return { watcher, writer, path };
}

type Read = (path: string, watch: boolean) => Operation<unknown>;

/** As {@link watcherAndWriter}, when these reads have set watches on the node. */
async function watchedNode(server: TestServer, ...reads: readonly Read[]) {
  const clients = await watcherAndWriter(server);
  for (const read of reads) await clients.watcher.do(read(clients.path, true));
  return clients;
}

forEachServer((server) => {
  describe('watches', () => {
    it('of exists on a missing node fire when it is created', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server, { node: false });
      expect(await watcher.errorOf(exists(path, true))).toBe(ERROR.noNode);
      await writer.do(create(path));
      expect(await watcher.eventsByNow()).toEqual([`created ${path}`]);
    });

    it('of exists on a missing node fire once, as created, when one transaction creates and deletes it', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      await writer.do(create(`${path}/leader`));
      expect(await watcher.errorOf(exists(`${path}/signal`, true))).toBe(ERROR.noNode);
      await watcher.do(getData(`${path}/leader`, true));
      await writer.do(multi(create(`${path}/signal`), remove(`${path}/signal`), remove(`${path}/leader`)));
      expect(await watcher.eventsByNow()).toEqual([`created ${path}/signal`, `deleted ${path}/leader`]);
    });

    // ZOOKEEPER-4655.
    const sendsZxid = server.isSince('3.9.0');
    it(`are sent as an event of xid -1, with ${sendsZxid ? "the change's" : 'no'} zxid and no error, of a connected session`, async () => {
      const { watcher, writer, path } = await watchedNode(server, exists);
      const { zxid } = await writer.ask(setData(path, 'x'));
      await watcher.do(ping());
      expect(watcher.fullEvents).toEqual([
        { kind: 'event', zxid: sendsZxid ? zxid : -1n, error: 0, type: 3, state: 3, path },
      ]);
    });

    it('of one transaction are sent in the order of its parts, before any reply that knows of it', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      await writer.do(create(`${path}/a`));
      for (const watched of [path, `${path}/a`]) await watcher.do(getData(watched, true));
      const start = watcher.received.length;
      const { zxid } = await writer.ask(multi(remove(`${path}/a`), setData(path, 'x')));
      await watcher.do(ping());
      expect(watcher.received.slice(start)).toMatchObject([
        { kind: 'event', path: `${path}/a`, ...(sendsZxid && { zxid }) },
        { kind: 'event', path, ...(sendsZxid && { zxid }) },
        { kind: 'reply', zxid },
      ]);
    });

    it.each<[string, Read]>([
      ['exists', exists],
      ['getData', getData],
    ])('of %s fire when the data are written', async (_name, read) => {
      const { watcher, writer, path } = await watchedNode(server, read);
      await writer.do(setData(path, 'x'));
      expect(await watcher.eventsByNow()).toEqual([`changed ${path}`]);
    });

    it.each<[string, Read]>([
      ['exists', exists],
      ['getData', getData],
      ['getChildren', getChildren],
      ['getChildren2', getChildren2],
    ])('of %s fire when the node is deleted', async (_name, read) => {
      const { watcher, writer, path } = await watchedNode(server, read);
      await writer.do(remove(path));
      expect(await watcher.eventsByNow()).toEqual([`deleted ${path}`]);
    });

    it.each<[string, Read]>([
      ['getChildren', getChildren],
      ['getChildren2', getChildren2],
    ])('of %s fire when a child comes, and when one goes', async (_name, read) => {
      const { watcher, writer, path } = await watchedNode(server, read);
      await writer.do(create(`${path}/child`));
      await watcher.do(read(path, true));
      await writer.do(remove(`${path}/child`));
      expect(await watcher.eventsByNow()).toEqual([`children ${path}`, `children ${path}`]);
    });

    it('of children do not fire for data, access lists or grandchildren', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      await writer.do(create(`${path}/child`));
      await watcher.do(getChildren(path, true));
      await writer.do(setData(path, 'x'));
      await writer.do(setData(`${path}/child`, 'x'));
      await writer.do(setAcl(path, OPEN));
      await writer.do(create(`${path}/child/grandchild`));
      expect(await watcher.eventsByNow()).toEqual([]);
    });

    it('of data do not fire for children or access lists', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData);
      await writer.do(create(`${path}/child`));
      await writer.do(remove(`${path}/child`));
      await writer.do(setAcl(path, OPEN));
      expect(await watcher.eventsByNow()).toEqual([]);
    });

    it('fire once', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData);
      for (const data of ['a', 'b', 'c']) await writer.do(setData(path, data));
      expect(await watcher.eventsByNow()).toEqual([`changed ${path}`]);
    });

    it('that a read has set fire again', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      for (const data of ['a', 'b', 'c']) {
        await watcher.do(getData(path, true));
        await writer.do(setData(path, data));
      }
      expect(await watcher.eventsByNow()).toEqual(Array(3).fill(`changed ${path}`));
    });

    it('of one client that are set twice give one event', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData, getData, exists);
      await writer.do(setData(path, 'x'));
      expect(await watcher.eventsByNow()).toEqual([`changed ${path}`]);
    });

    it('for data and for children of one node give one event of its deletion', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData, getChildren);
      await writer.do(remove(path));
      expect(await watcher.eventsByNow()).toEqual([`deleted ${path}`]);
    });

    it('are not set by a read without one, nor taken away', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData);
      await watcher.do(getData(path, false));
      await watcher.do(getChildren(path, false));
      await writer.do(setData(path, 'x'));
      await writer.do(create(`${path}/child`));
      expect(await watcher.eventsByNow()).toEqual([`changed ${path}`]);
    });

    it.each<[string, Read]>([
      ['getData', getData],
      ['getChildren', getChildren],
      ['getChildren2', getChildren2],
    ])('are not set by %s of a missing node', async (_name, read) => {
      const { watcher, writer, path } = await watcherAndWriter(server, { node: false });
      expect(await watcher.errorOf(read(path, true))).toBe(ERROR.noNode);
      await writer.do(create(path));
      await writer.do(setData(path, 'x'));
      await writer.do(create(`${path}/child`));
      expect(await watcher.eventsByNow()).toEqual([]);
    });

    it('go to every client that watches', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      const other = await server.connect();
      await watcher.do(getData(path, true));
      await other.do(exists(path, true));
      await writer.do(setData(path, 'x'));
      await Promise.all([watcher.do(ping()), other.do(ping())]);
      expect([watcher.events, other.events, writer.events]).toEqual([
        [`changed ${path}`],
        [`changed ${path}`],
        [],
      ]);
    });

    it('go to the client that makes the change too, before its reply', async () => {
      const { client, path } = await server.withNode();
      await client.do(getData(path, true));
      const start = client.order.length;
      const { xid } = await client.ask(setData(path, 'x'));
      expect(client.order.slice(start)).toEqual([`changed ${path}`, xid]);
    });

    it('notify a client of a change before a read shows it', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      for (let round = 1; round <= 20; round++) {
        await watcher.do(getData(path, true));
        const write = writer.do(setData(path, 'x'));
        let shown = 0;
        // Reads one after the other while the write is on its way, until a read shows it.
        while (shown < round) {
          const { value, xid } = await watcher.ask(getData(path));
          shown = value?.stat.version ?? 0;
          if (shown === round)
            expect(watcher.order.slice(0, watcher.order.indexOf(xid))).toContain(`changed ${path}`);
        }
        expect(watcher.events).toHaveLength(round);
        await write;
      }
    });

    it('fire in the order of the changes', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      const names = ['c', 'a', 'd', 'b'].map((name) => `${path}/${name}`);
      for (const name of names) await watcher.ask(exists(name, true));
      for (const name of names) await writer.do(create(name));
      expect(await watcher.eventsByNow()).toEqual(names.map((name) => `created ${name}`));
    });

    it('of a creation fire at the node first, then at its parent', async () => {
      const { watcher, writer, path } = await watchedNode(server, getChildren);
      await watcher.ask(exists(`${path}/child`, true));
      await writer.do(create(`${path}/child`));
      expect(await watcher.eventsByNow()).toEqual([`created ${path}/child`, `children ${path}`]);
    });

    it('of a deletion fire at the node first, then at its parent', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      await writer.do(create(`${path}/child`));
      await watcher.do(getChildren(path, true));
      await watcher.do(getData(`${path}/child`, true));
      await writer.do(remove(`${path}/child`));
      expect(await watcher.eventsByNow()).toEqual([`deleted ${path}/child`, `children ${path}`]);
    });

    it('of a transaction fire in the order of its parts', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData, getChildren);
      await watcher.ask(exists(`${path}/b`, true));
      await writer.do(multi(create(`${path}/a`), create(`${path}/b`), setData(path, 'x')));
      expect(await watcher.eventsByNow()).toEqual([
        `children ${path}`,
        `created ${path}/b`,
        `changed ${path}`,
      ]);
    });

    it('do not fire for a transaction that failed', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData, getChildren);
      await writer.ask(multi(setData(path, 'x'), create(`${path}/a`), remove(`${path}/missing`)));
      expect(await watcher.eventsByNow()).toEqual([]);
    });

    it('do not fire for a write that failed', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData);
      expect(await writer.errorOf(setData(path, 'x', 7))).toBe(ERROR.badVersion);
      expect(await watcher.eventsByNow()).toEqual([]);
    });

    it('of the children of the root name it /', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server, { node: false });
      await watcher.do(getChildren('/', true));
      await writer.do(create(path));
      expect(await watcher.eventsByNow()).toEqual(['children /']);
    });

    it('fire for ephemeral nodes when their session closes', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      await writer.do(create(`${path}/mine`, { mode: MODE.ephemeral }));
      await watcher.do(exists(`${path}/mine`, true));
      await watcher.do(getChildren(path, true));
      await writer.close();
      expect(await watcher.eventsByNow()).toEqual([`deleted ${path}/mine`, `children ${path}`]);
    });

    // Since 3.8.4, for CVE-2024-23944. Debian's 3.8.0 has that fix, too.
    it('do not report a node that the watcher may not read, and are spent all the same', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server, { node: false });
      await watcher.ask(exists(path, true));
      await writer.do(create(path, { acl: world(PERMISSION.all & ~PERMISSION.read) }));
      await writer.do(setAcl(path, OPEN));
      await writer.do(setData(path, 'x'));
      expect(await watcher.eventsByNow()).toEqual([]);
    });

    it('do not report a deletion either, if the node could not be read', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData, getChildren);
      await writer.do(setAcl(path, world(PERMISSION.write)));
      await writer.do(remove(path));
      expect(await watcher.eventsByNow()).toEqual([]);
    });

    it('of children notify by the access list of the parent, not of the child', async () => {
      const { watcher, writer, path } = await watchedNode(server, getChildren);
      await writer.do(create(`${path}/secret`, { acl: world(PERMISSION.write) }));
      expect(await watcher.eventsByNow()).toEqual([`children ${path}`]);
      await watcher.do(getChildren(path, true));
      await writer.do(setAcl(path, world(PERMISSION.all & ~PERMISSION.read)));
      await writer.do(create(`${path}/other`));
      expect(await watcher.eventsByNow()).toEqual([`children ${path}`]);
    });

    it('notify the clients that may read, and only them', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server, { node: false });
      const alice = await server.connect();
      for (const client of [alice, writer]) await client.do(auth('digest', 'alice:pw'));
      for (const client of [alice, watcher]) await client.ask(exists(path, true));
      await writer.do(create(path, { acl: CREATOR_ALL }));
      await Promise.all([alice.do(ping()), watcher.do(ping())]);
      expect([alice.events, watcher.events]).toEqual([[`created ${path}`], []]);
    });

    it('end with the connection: the session has none when it comes back', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData);
      watcher.vanish();
      const again = await server.connect(watcher.credentials);
      await writer.do(setData(path, 'x'));
      expect(await again.eventsByNow()).toEqual([]);
    });
  });

  describe('setWatches', () => {
    it('is answered with xid -8', async () => {
      const client = await server.connect();
      const { xid, error, body } = await client.ask(setWatches({ seenZxid: 0n }));
      expect({ xid, error, length: body.length }).toEqual({ xid: -8, error: 0, length: 0 });
    });

    it('sets watches of all kinds, which fire later', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      const { zxid } = await writer.ask(create(`${path}/a`));
      await watcher.do(
        setWatches({ seenZxid: zxid, data: [`${path}/a`], exist: [`${path}/b`], child: [path] }),
      );
      expect(watcher.events).toEqual([]);
      await writer.do(setData(`${path}/a`, 'x'));
      await writer.do(create(`${path}/b`));
      expect(await watcher.eventsByNow()).toEqual([
        `changed ${path}/a`,
        `created ${path}/b`,
        `children ${path}`,
      ]);
    });

    it('notifies at once of data that were written after the zxid', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      const { zxid } = await watcher.ask(exists(path));
      await writer.do(setData(path, 'x'));
      const start = watcher.order.length;
      await watcher.do(setWatches({ seenZxid: zxid, data: [path] }));
      expect(watcher.order.slice(start)).toEqual([`changed ${path}`, -8]);
    });

    it('sends no zxid with what it reports at once', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      const { zxid } = await watcher.ask(exists(path));
      await writer.do(setData(path, 'x'));
      await watcher.do(setWatches({ seenZxid: zxid, data: [path] }));
      expect(watcher.fullEvents).toMatchObject([{ zxid: -1n, path }]);
    });

    it('notifies at once of nodes that are gone', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      const { zxid } = await watcher.ask(exists(path));
      await writer.do(remove(path));
      await watcher.do(setWatches({ seenZxid: zxid, data: [path] }));
      expect(watcher.events).toEqual([`deleted ${path}`]);
    });

    it('notifies at once of nodes that have come', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server, { node: false });
      const { zxid } = await watcher.ask(exists(path));
      await writer.do(create(path));
      await watcher.do(setWatches({ seenZxid: zxid, exist: [path] }));
      expect(watcher.events).toEqual([`created ${path}`]);
    });

    it('notifies at once of children that came or went, and of a parent that is gone', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      for (const name of ['same', 'changed', 'gone']) await writer.do(create(`${path}/${name}`));
      const { zxid } = await watcher.ask(exists(path));
      await writer.do(create(`${path}/changed/child`));
      await writer.do(remove(`${path}/gone`));
      await watcher.do(
        setWatches({ seenZxid: zxid, child: ['same', 'changed', 'gone'].map((name) => `${path}/${name}`) }),
      );
      expect(watcher.events).toEqual([`children ${path}/changed`, `deleted ${path}/gone`]);
    });

    it('sets no watch for what it reports at once', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      const { zxid } = await watcher.ask(exists(path));
      await writer.do(setData(path, 'x'));
      await watcher.do(setWatches({ seenZxid: zxid, data: [path] }));
      await writer.do(setData(path, 'y'));
      expect(await watcher.eventsByNow()).toEqual([`changed ${path}`]);
    });

    it('does not notify of what the client has seen', async () => {
      const { watcher, writer, path } = await watcherAndWriter(server);
      const { zxid } = await writer.ask(setData(path, 'x'));
      await watcher.do(setWatches({ seenZxid: zxid, data: [path], child: [path] }));
      expect(watcher.events).toEqual([]);
      await writer.do(setData(path, 'y'));
      expect(await watcher.eventsByNow()).toEqual([`changed ${path}`]);
    });
  });

  describe('removed watches', () => {
    it('of data fire no more', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData);
      await watcher.do(removeWatches(path, WATCH.data));
      await writer.do(setData(path, 'x'));
      expect(await watcher.eventsByNow()).not.toContain(`changed ${path}`);
    });

    it('of data leave those of children', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData, getChildren);
      await watcher.do(removeWatches(path, WATCH.data));
      await writer.do(setData(path, 'x'));
      await writer.do(create(`${path}/child`));
      expect(await watcher.eventsByNow()).toEqual([`children ${path}`]);
    });

    it('of any kind are all gone', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData, getChildren);
      await watcher.do(removeWatches(path, WATCH.any));
      await writer.do(setData(path, 'x'));
      await writer.do(create(`${path}/child`));
      expect(await watcher.eventsByNow()).toEqual([]);
    });

    it('that were never set are NO_WATCHER', async () => {
      const { watcher, path } = await watcherAndWriter(server);
      for (const kind of [WATCH.children, WATCH.data, WATCH.any])
        expect(await watcher.errorOf(removeWatches(path, kind))).toBe(ERROR.noWatcher);
    });

    it('of another kind than was set are NO_WATCHER', async () => {
      const { watcher, path } = await watchedNode(server, getData);
      expect(await watcher.errorOf(removeWatches(path, WATCH.children))).toBe(ERROR.noWatcher);
      expect(await watcher.errorOf(removeWatches(path, WATCH.data))).toBe(ERROR.none);
    });

    it('of another client stay', async () => {
      const { watcher, writer, path } = await watchedNode(server, getData);
      expect(await writer.errorOf(removeWatches(path, WATCH.any))).toBe(ERROR.noWatcher);
      await writer.do(setData(path, 'x'));
      expect(await watcher.eventsByNow()).toEqual([`changed ${path}`]);
    });

    it('of an unknown kind are a MARSHALLING_ERROR', async () => {
      const { watcher, path } = await watcherAndWriter(server);
      expect(await watcher.errorOf(removeWatches(path, 9))).toBe(ERROR.marshalling);
    });
  });
});
