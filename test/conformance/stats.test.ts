import { describe, expect, it } from 'vitest';
import {
  create,
  create2,
  createContainer,
  exists,
  getAcl,
  getChildren,
  getChildren2,
  getData,
  MODE,
  multi,
  remove,
  setAcl,
  setData,
  world,
} from '../support/wire/operations.js';
import { forEachServer } from './support/servers.js';

forEachServer((server) => {
  describe('stat fields', () => {
    it('of a new node: made and written by the same transaction, all versions 0', async () => {
      const { client, path } = await server.withPath();
      const { zxid } = await client.ask(create(path, { data: 'four' }));
      const stat = await client.do(exists(path));
      expect(stat).toEqual({
        czxid: zxid,
        mzxid: zxid,
        pzxid: zxid,
        ctime: stat.ctime,
        mtime: stat.ctime,
        version: 0,
        cversion: 0,
        aversion: 0,
        ephemeralOwner: 0n,
        dataLength: 4,
        numChildren: 0,
      });
    });

    it('hold the time of creation as milliseconds of the epoch', async () => {
      const { client, path } = await server.withPath();
      const before = Date.now();
      await client.do(create(path));
      const after = Date.now();
      const { ctime, mtime } = await client.do(exists(path));
      expect(Number(ctime)).toBeGreaterThanOrEqual(before);
      expect(Number(ctime)).toBeLessThanOrEqual(after);
      expect(mtime).toBe(ctime);
    });

    it('that create2 answers are those that a read shows', async () => {
      const { client, path } = await server.withPath();
      const created = await client.do(create2(path, { data: 'abc' }));
      expect(created.path).toBe(path);
      expect(created.stat).toEqual(await client.do(exists(path)));
      expect(created.stat.dataLength).toBe(3);
    });

    it('of a write: version and mzxid go on, czxid and pzxid stay', async () => {
      const { client, path } = await server.withPath();
      const { stat: before } = await client.do(create2(path, { data: 'a' }));
      const { zxid, value: after } = await client.ask(setData(path, 'bc'));
      expect(zxid).toBeGreaterThan(before.mzxid);
      expect(after).toEqual({ ...before, mzxid: zxid, mtime: after?.mtime, version: 1, dataLength: 2 });
      expect(after?.mtime).toBeGreaterThanOrEqual(before.mtime);
    });

    it('that setData answers are those that a read shows', async () => {
      const { client, path } = await server.withNode();
      const written = await client.do(setData(path, 'data'));
      expect(await client.do(exists(path))).toEqual(written);
    });

    it('count every write in the version, those that change nothing too', async () => {
      const { client, path } = await server.withNode({ data: 'same' });
      const versions = [];
      for (let round = 0; round < 3; round++) versions.push((await client.do(setData(path, 'same'))).version);
      expect(versions).toEqual([1, 2, 3]);
    });

    it('of a parent: a child counts in cversion, numChildren and pzxid, and in nothing else', async () => {
      const { client, path } = await server.withPath();
      const { stat: before } = await client.do(create2(path));
      const { zxid } = await client.ask(create(`${path}/child`));
      expect(await client.do(exists(path))).toEqual({ ...before, cversion: 1, numChildren: 1, pzxid: zxid });
    });

    it('of a parent: a deleted child counts in cversion again, and its transaction is the new pzxid', async () => {
      const { client, path } = await server.withPath();
      const { stat: before } = await client.do(create2(path));
      await client.do(create(`${path}/child`));
      const { zxid } = await client.ask(remove(`${path}/child`));
      expect(await client.do(exists(path))).toEqual({ ...before, cversion: 2, numChildren: 0, pzxid: zxid });
    });

    it('of a parent: cversion is the number of creates and deletes, in whatever order', async () => {
      const { client, path } = await server.withNode();
      const child = (name: string) => `${path}/${name}`;
      const cversions = [];
      for (const operation of [
        create(child('a')),
        create(child('b')),
        remove(child('a')),
        create(child('c')),
        remove(child('c')),
        remove(child('b')),
      ]) {
        await client.do<unknown>(operation);
        cversions.push((await client.do(exists(path))).cversion);
      }
      expect(cversions).toEqual([1, 2, 3, 4, 5, 6]);
    });

    it('of a parent: the data of a child change nothing', async () => {
      const { client, path } = await server.withNode();
      await client.do(create(`${path}/child`));
      const before = await client.do(exists(path));
      await client.do(setData(`${path}/child`, 'more'));
      expect(await client.do(exists(path))).toEqual(before);
    });

    it('of a parent: grandchildren change nothing', async () => {
      const { client, path } = await server.withNode();
      await client.do(create(`${path}/child`));
      const before = await client.do(exists(path));
      await client.do(create(`${path}/child/grandchild`));
      await client.do(remove(`${path}/child/grandchild`));
      expect(await client.do(exists(path))).toEqual(before);
    });

    it('of an access list: setACL counts in aversion only, and leaves even mzxid as it was', async () => {
      const { client, path } = await server.withPath();
      const { stat: before } = await client.do(create2(path, { data: 'x' }));
      const { zxid, value: after } = await client.ask(setAcl(path, world(31)));
      expect(zxid).toBeGreaterThan(before.czxid);
      expect(after).toEqual({ ...before, aversion: 1 });
      expect(await client.do(exists(path))).toEqual(after);
    });

    it('name the session in ephemeralOwner of an ephemeral node', async () => {
      const { client, path } = await server.withPath();
      const { stat } = await client.do(create2(path, { mode: MODE.ephemeral }));
      expect(stat.ephemeralOwner).toBe(client.id);
      expect((await client.do(setData(path, 'x'))).ephemeralOwner).toBe(client.id);
    });

    it('name no owner of a container', async () => {
      const { client, path } = await server.withPath();
      const created = await client.do(createContainer(path));
      expect(created).toMatchObject({ path, stat: { ephemeralOwner: 0n, version: 0, numChildren: 0 } });
      expect(await client.do(exists(path))).toEqual(created.stat);
    });

    it('are the same from exists, getData, getChildren2 and getACL', async () => {
      const { client, path } = await server.withNode({ data: 'data' });
      await client.do(create(`${path}/child`));
      await client.do(setData(path, 'other'));
      const stat = await client.do(exists(path));
      expect((await client.do(getData(path))).stat).toEqual(stat);
      expect((await client.do(getChildren2(path))).stat).toEqual(stat);
      expect((await client.do(getAcl(path))).stat).toEqual(stat);
    });

    it('start anew when a node is deleted and made again', async () => {
      const { client, path } = await server.withNode();
      const { mzxid } = await client.do(setData(path, 'x'));
      await client.do(setAcl(path, world(31)));
      await client.do(create(`${path}/child`));
      await client.do(remove(`${path}/child`));
      await client.do(remove(path));
      const { stat } = await client.do(create2(path));
      expect(stat).toMatchObject({ version: 0, cversion: 0, aversion: 0, dataLength: 0 });
      expect(stat.czxid).toBeGreaterThan(mzxid);
      expect(stat.pzxid).toBe(stat.czxid);
    });

    it('of nodes that one transaction made share its zxid', async () => {
      const { client, path } = await server.withPath();
      const { zxid } = await client.ask(multi(create(path), create(`${path}/child`), setData(path, 'x')));
      const parent = await client.do(exists(path));
      expect(parent).toMatchObject({ czxid: zxid, mzxid: zxid, pzxid: zxid, version: 1, cversion: 1 });
      expect((await client.do(exists(`${path}/child`))).czxid).toBe(zxid);
    });
  });

  describe('data', () => {
    it('come back as the bytes that were written', async () => {
      const { client, path } = await server.withPath();
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
      await client.do(create(path, { data: bytes }));
      const { data } = await client.do(getData(path));
      expect(data?.equals(bytes)).toBe(true);
    });

    it('of no length come back as no bytes', async () => {
      const { client, path } = await server.withNode({ data: '' });
      const { data, stat } = await client.do(getData(path));
      expect(data).toEqual(Buffer.alloc(0));
      expect(stat.dataLength).toBe(0);
    });

    it('that are null come back as null, with a length of 0', async () => {
      const { client, path } = await server.withNode({ data: null });
      const { data, stat } = await client.do(getData(path));
      expect(data).toBeNull();
      expect(stat.dataLength).toBe(0);
    });

    it('can be made null by a write', async () => {
      const { client, path } = await server.withNode({ data: 'something' });
      expect((await client.do(setData(path, null))).dataLength).toBe(0);
      expect((await client.do(getData(path))).data).toBeNull();
    });
  });

  describe('children', () => {
    it('are named without their parents', async () => {
      const { client, path } = await server.withNode();
      for (const name of ['b', 'a', 'c']) await client.do(create(`${path}/${name}`));
      await client.do(create(`${path}/a/below`));
      expect((await client.do(getChildren(path))).sort()).toEqual(['a', 'b', 'c']);
    });

    it('of a node that has none are an empty list', async () => {
      const { client, path } = await server.withNode();
      expect(await client.do(getChildren(path))).toEqual([]);
      expect((await client.do(getChildren2(path))).children).toEqual([]);
    });

    it('may have names beyond ASCII', async () => {
      const { client, path } = await server.withNode();
      expect(await client.do(create(`${path}/grüße-世界`))).toBe(`${path}/grüße-世界`);
      expect(await client.do(getChildren(path))).toEqual(['grüße-世界']);
    });
  });
});
