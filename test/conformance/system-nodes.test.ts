import { describe, expect, it } from 'vitest';
import {
  create,
  exists,
  getAcl,
  getChildren,
  getData,
  MODE,
  OPEN,
  PERMISSION,
  remove,
  setData,
  world,
} from '../support/wire/operations.js';
import { ERROR } from '../support/wire/protocol.mjs';
import { forEachServer, freshPath } from './support/servers.js';

forEachServer((server) => {
  // These tests need a newly started server. Therefore they leave nothing behind, and their order matters.
  describe('the nodes of a new server', () => {
    it('were made by no transaction: the first transaction is that of the first session', async () => {
      const client = await server.connect();
      expect((await client.ask(exists('/'))).zxid).toBe(1n);
    });

    it('are the root, which was never made, with one child', async () => {
      const client = await server.connect();
      expect(await client.do(exists('/'))).toEqual({
        czxid: 0n,
        mzxid: 0n,
        pzxid: 0n,
        ctime: 0n,
        mtime: 0n,
        version: 0,
        cversion: -1,
        aversion: 0,
        ephemeralOwner: 0n,
        dataLength: 0,
        numChildren: 1,
      });
      expect(await client.do(getChildren('/'))).toEqual(['zookeeper']);
    });

    it('are /zookeeper with the configuration and the quotas', async () => {
      const client = await server.connect();
      expect((await client.do(getChildren('/zookeeper'))).sort()).toEqual(['config', 'quota']);
    });

    it('have no data, and let all clients do everything at the root', async () => {
      const client = await server.connect();
      for (const path of ['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config'])
        expect((await client.do(getData(path))).data, path).toEqual(Buffer.alloc(0));
      expect((await client.do(getAcl('/'))).acl).toEqual(OPEN);
    });

    it('have a configuration that all clients may read', async () => {
      const client = await server.connect();
      const { acl, stat } = await client.do(getAcl('/zookeeper/config'));
      expect(acl).toEqual(world(PERMISSION.read));
      expect(stat).toMatchObject({ czxid: 0n, version: 0, aversion: -1 });
      expect(await client.errorOf(setData('/zookeeper/config', 'x'))).toBe(ERROR.noAuth);
    });

    it('have the numbers of the root count from 0', async () => {
      const client = await server.connect();
      const path = await client.do(create('/first-', { mode: MODE.sequential }));
      expect(path).toBe('/first-0000000000');
      expect((await client.do(exists('/'))).cversion).toBe(0);
      await client.do(remove('/first-0000000000'));
      expect((await client.do(exists('/'))).cversion).toBe(1);
    });
  });

  describe('system nodes', () => {
    it.each(['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config'])(
      '%s can not be deleted',
      async (path) => {
        const client = await server.connect();
        expect(await client.errorOf(remove(path))).toBe(ERROR.badArguments);
        expect(await client.errorOf(exists(path))).toBe(ERROR.none);
      },
    );

    it.each(['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config'])(
      '%s is there already',
      async (path) => {
        const client = await server.connect();
        expect(await client.errorOf(create(path))).toBe(ERROR.nodeExists);
      },
    );

    it('the root is read by the empty path as well', async () => {
      const client = await server.connect();
      expect((await client.do(getChildren(''))).sort()).toEqual((await client.do(getChildren('/'))).sort());
      expect(await client.do(exists(''))).toEqual(await client.do(exists('/')));
    });

    it('the root takes sequential nodes that are only a number', async () => {
      const client = await server.connect();
      const path = await client.do(create('/', { mode: MODE.sequential }));
      expect(path).toMatch(/^\/\d{10}$/);
      await client.do(remove(path as string));
    });

    it('the root takes data', async () => {
      const client = await server.connect();
      const { version } = await client.do(exists('/'));
      const { zxid, value } = await client.ask(setData('/', 'root', version));
      expect(value).toMatchObject({ version: version + 1, mzxid: zxid, czxid: 0n });
      expect((await client.do(getData('/'))).data).toEqual(Buffer.from('root'));
      await client.do(setData('/', ''));
    });

    it('the root counts its children in cversion and pzxid', async () => {
      const client = await server.connect();
      const before = await client.do(exists('/'));
      const path = freshPath();
      await client.do(create(path));
      const { zxid } = await client.ask(remove(path));
      expect(await client.do(exists('/'))).toEqual({ ...before, cversion: before.cversion + 2, pzxid: zxid });
    });

    it('nodes below /zookeeper can be made and deleted', async () => {
      const client = await server.connect();
      const path = `/zookeeper${freshPath()}`;
      expect(await client.errorOf(create(path))).toBe(ERROR.none);
      expect(await client.errorOf(remove(path))).toBe(ERROR.none);
    });
  });
});
