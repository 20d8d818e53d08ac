import { describe, expect, it } from 'vitest';
import { Writer } from '../support/wire/jute.mjs';
import {
  check,
  create,
  create2,
  createContainer,
  createTtl,
  exists,
  getAcl,
  getChildren,
  getChildren2,
  getData,
  MODE,
  OPEN,
  type Operation,
  raw,
  remove,
  removeWatches,
  setAcl,
  setData,
  sync,
  WATCH,
} from '../support/wire/operations.js';
import { ERROR, OPERATION } from '../support/wire/protocol.mjs';
import { forEachServer, freshPath } from './support/servers.js';

const INVALID_NAMES: [string, string][] = [
  ['no name', ''],
  ['.', '.'],
  ['..', '..'],
  ['a null character', 'no\0de'],
  ['a control character', 'no\u0001de'],
  ['a character of C1', 'no\u0085de'],
  ['a surrogate pair', 'no😀de'],
  ['a private use character', 'no\uE000de'],
  ['a non-character', 'no\uFFFFde'],
];
const INVALID_PATHS: [string, string][] = [
  ['an empty path', ''],
  ['no slash at the start', 'node'],
  ['an empty name', '/node//child'],
  ['the name . on the way', '/node/./child'],
  ['the name .. on the way', '/node/../child'],
  ['a control character on the way', '/no\u0001de/child'],
  ...INVALID_NAMES.map(([what, name]): [string, string] => [`${what} at the end`, `/node/${name}`]),
];

forEachServer((server) => {
  describe('error codes', () => {
    it.each<[string, (path: string) => Operation<unknown>]>([
      ['exists', exists],
      ['getData', getData],
      ['getChildren', getChildren],
      ['getChildren2', getChildren2],
      ['getACL', getAcl],
      ['setData', (path) => setData(path, 'x')],
      ['setData with a version', (path) => setData(path, 'x', 3)],
      ['setACL', (path) => setAcl(path, OPEN)],
      ['delete', (path) => remove(path)],
      ['delete with a version', (path) => remove(path, 3)],
    ])('%s of a missing node is NO_NODE', async (_name, operation) => {
      const client = await server.connect();
      expect(await client.errorOf(operation(freshPath()))).toBe(ERROR.noNode);
    });

    it.each([
      ['create', create],
      ['create2', create2],
      ['a sequential create', (path: string) => create(path, { mode: MODE.sequential })],
      ['an ephemeral create', (path: string) => create(path, { mode: MODE.ephemeral })],
    ])('%s below a missing node is NO_NODE', async (_name, operation) => {
      const client = await server.connect();
      expect(await client.errorOf(operation(`${freshPath()}/child`))).toBe(ERROR.noNode);
    });

    it.each([
      ['create', create],
      ['create2', create2],
      ['an ephemeral create', (path: string) => create(path, { mode: MODE.ephemeral })],
      ['a container', createContainer],
    ])('%s of a node that is there is NODE_EXISTS, and leaves it as it was', async (_name, operation) => {
      const { client, path } = await server.withPath();
      const { stat } = await client.do(create2(path, { data: 'first' }));
      expect(await client.errorOf(operation(path))).toBe(ERROR.nodeExists);
      expect(await client.do(getData(path))).toEqual({ data: Buffer.from('first'), stat });
    });

    it('a delete of a node with children is NOT_EMPTY', async () => {
      const { client, path } = await server.withNode();
      await client.do(create(`${path}/child`));
      expect(await client.errorOf(remove(path))).toBe(ERROR.notEmpty);
      await client.do(remove(`${path}/child`));
      expect(await client.errorOf(remove(path))).toBe(ERROR.none);
    });

    it('a delete of a node with children at a wrong version is BAD_VERSION', async () => {
      const { client, path } = await server.withNode();
      await client.do(create(`${path}/child`));
      expect(await client.errorOf(remove(path, 5))).toBe(ERROR.badVersion);
    });

    it('a write at another version is BAD_VERSION, and writes nothing', async () => {
      const { client, path } = await server.withNode({ data: 'a' });
      const written = await client.do(setData(path, 'b', 0));
      expect(await client.errorOf(setData(path, 'c', 0))).toBe(ERROR.badVersion);
      expect(await client.errorOf(setData(path, 'c', 2))).toBe(ERROR.badVersion);
      expect(await client.do(getData(path))).toEqual({ data: Buffer.from('b'), stat: written });
    });

    it('a delete at another version is BAD_VERSION, and at the right one, or at -1, none', async () => {
      const { client, path } = await server.withNode();
      await client.do(setData(path, 'x'));
      expect(await client.errorOf(remove(path, 0))).toBe(ERROR.badVersion);
      expect(await client.errorOf(remove(path, 1))).toBe(ERROR.none);
      await client.do(create(path));
      expect(await client.errorOf(remove(path, -1))).toBe(ERROR.none);
      expect(await client.errorOf(exists(path))).toBe(ERROR.noNode);
    });

    it('a version below -1 is BAD_VERSION', async () => {
      const { client, path } = await server.withNode();
      expect(await client.errorOf(setData(path, 'x', -2))).toBe(ERROR.badVersion);
      expect(await client.errorOf(remove(path, -2))).toBe(ERROR.badVersion);
    });

    it.each([
      ['a persistent one', MODE.persistent],
      ['an ephemeral one', MODE.ephemeral],
      ['a sequential one', MODE.sequential],
    ])('a child of an ephemeral node, %s, is NO_CHILDREN_FOR_EPHEMERALS', async (_name, mode) => {
      const { client, path } = await server.withNode({ mode: MODE.ephemeral });
      expect(await client.errorOf(create(`${path}/child`, { mode }))).toBe(ERROR.noChildrenForEphemerals);
    });

    it('an unknown mode is BAD_ARGUMENTS', async () => {
      const client = await server.connect();
      expect(await client.errorOf(create(freshPath(), { mode: 7 }))).toBe(ERROR.badArguments);
      expect(await client.errorOf(create(freshPath(), { mode: -1 }))).toBe(ERROR.badArguments);
    });

    it('a node with a time to live is UNIMPLEMENTED, as long as it is not switched on', async () => {
      const { client, path } = await server.withPath();
      expect(await client.errorOf(createTtl(path, 10_000n))).toBe(ERROR.unimplemented);
      expect(await client.errorOf(exists(path))).toBe(ERROR.noNode);
    });

    it('a change of the ensemble is RECONFIG_DISABLED', async () => {
      const client = await server.connect();
      const body = new Writer().string(null).string(null).string('server.1=x').long(-1n).done();
      expect(await client.errorOf(raw(OPERATION.reconfig, body))).toBe(ERROR.reconfigDisabled);
    });

    if (server.isSince('3.9.0')) {
      it('a check outside a transaction is UNIMPLEMENTED, and ends the connection', async () => {
        const client = await server.connect();
        expect(await client.errorOf(check('/', -1))).toBe(ERROR.unimplemented);
        await client.closed;
      });
    } else {
      it('a check outside a transaction at a wrong version is BAD_VERSION', async () => {
        const client = await server.connect();
        expect(await client.errorOf(check('/', 1000))).toBe(ERROR.badVersion);
        expect(await client.errorOf(check(freshPath(), -1))).toBe(ERROR.noNode);
      });
    }

    it('a time to live for a node of another mode is BAD_ARGUMENTS', async () => {
      const { client, path } = await server.withPath();
      expect(await client.errorOf(createTtl(path, 10_000n, { mode: MODE.persistent }))).toBe(
        ERROR.badArguments,
      );
      expect(await client.errorOf(exists(path))).toBe(ERROR.noNode);
    });

    it('an error is a header and nothing else', async () => {
      const client = await server.connect();
      for (const operation of [getData(freshPath()), remove(freshPath()), create(`${freshPath()}/child`)]) {
        const { error, body } = await client.ask<unknown>(operation);
        expect(error).toBe(ERROR.noNode);
        expect(body).toHaveLength(0);
      }
    });

    it('a request whose body is cut is MARSHALLING_ERROR, and the connection goes on', async () => {
      const { client, path } = await server.withNode();
      const { body } = getData(path);
      expect(await client.errorOf(raw(OPERATION.getData, body.subarray(0, 6)))).toBe(ERROR.marshalling);
      expect(await client.errorOf(raw(OPERATION.create, create(freshPath()).body.subarray(0, 6)))).toBe(
        ERROR.marshalling,
      );
      expect(await client.errorOf(exists(path))).toBe(ERROR.none);
    });

    it('an unknown type is UNIMPLEMENTED, and ends the connection', async () => {
      const client = await server.connect();
      expect(await client.errorOf(raw(99))).toBe(ERROR.unimplemented);
      await client.closed;
    });
  });

  describe('paths', () => {
    it.each(INVALID_NAMES)('whose last name is %s are BAD_ARGUMENTS for create', async (_name, name) => {
      const { client, path } = await server.withNode();
      expect(await client.errorOf(create(`${path}/${name}`))).toBe(ERROR.badArguments);
      expect(await client.do(getChildren(path))).toEqual([]);
    });

    it.each([
      ['an empty path', ''],
      ['no slash at the start', 'node'],
    ])('that are wrong from the start, %s, are BAD_ARGUMENTS for create', async (_name, path) => {
      const client = await server.connect();
      expect(await client.errorOf(create(path))).toBe(ERROR.badArguments);
    });

    it('that are wrong further up are NO_NODE for create: it looks for the parent first', async () => {
      const { client, path } = await server.withNode();
      for (const wrong of ['//child', '/./child', '/../child', '/a\u0001/child'])
        expect(await client.errorOf(create(path + wrong)), wrong).toBe(ERROR.noNode);
    });

    it.each(INVALID_PATHS)('with %s are BAD_ARGUMENTS for setData', async (_name, path) => {
      const client = await server.connect();
      expect(await client.errorOf(setData(path, 'x'))).toBe(ERROR.badArguments);
    });

    it('with a null character are BAD_ARGUMENTS for exists, and missing nodes for other reads', async () => {
      const client = await server.connect();
      expect(await client.errorOf(exists('/a\0b'))).toBe(ERROR.badArguments);
      for (const operation of [getData('/a\0b'), getChildren('/a\0b'), getAcl('/a\0b')])
        expect(await client.errorOf(operation)).toBe(ERROR.noNode);
    });

    it('that are wrong are just missing nodes for a read', async () => {
      const client = await server.connect();
      for (const path of ['/node/', '/node//child', '/node/../child'])
        expect(await client.errorOf(exists(path)), path).toBe(ERROR.noNode);
    });

    it.each(['.hidden', '...', 'a b', 'a.b', '-', '%', '~', '\u00a0'])(
      'may have the name %j',
      async (name) => {
        const { client, path } = await server.withNode();
        expect(await client.do(create(`${path}/${name}`))).toBe(`${path}/${name}`);
      },
    );

    it('with a slash at the end are right for a sequential create: its number is the name', async () => {
      const { client, path } = await server.withNode();
      expect(await client.do(create(`${path}/`, { mode: MODE.sequential }))).toBe(`${path}/0000000000`);
    });

    it('are compared byte by byte, upper and lower case apart', async () => {
      const { client, path } = await server.withNode();
      await client.do(create(`${path}/a`));
      expect(await client.errorOf(exists(`${path}/A`))).toBe(ERROR.noNode);
      expect(await client.errorOf(create(`${path}/A`))).toBe(ERROR.none);
    });
  });

  describe('requests', () => {
    it('are answered with the xid that they came with', async () => {
      const client = await server.connect();
      for (const xid of [0, 5, 2 ** 31 - 1, 1, -100])
        expect((await client.ask(exists('/'), xid)).xid).toBe(xid);
    });

    it('that are sent at once are answered in their order', async () => {
      const { client, path } = await server.withNode();
      const start = client.order.length;
      const requests = Array.from({ length: 100 }, (_, index) =>
        index % 3 === 0 ? client.ask(setData(path, String(index))) : client.ask(exists(path)),
      );
      const xids = (await Promise.all<{ xid: number }>(requests)).map(({ xid }) => xid);
      expect(client.order.slice(start)).toEqual(xids);
      expect(xids).toEqual([...xids].sort((a, b) => a - b));
    });

    it('see what those before them on the same connection wrote', async () => {
      const { client, path } = await server.withPath();
      const [, first, , second] = await Promise.all([
        client.ask(create(path, { data: 'a' })),
        client.ask(getData(path)),
        client.ask(setData(path, 'b')),
        client.ask(getData(path)),
      ]);
      expect(first?.value?.data).toEqual(Buffer.from('a'));
      expect(second?.value?.data).toEqual(Buffer.from('b'));
    });

    it('that write are answered with a zxid of their own, each above the one before', async () => {
      const { client, path } = await server.withPath();
      const replies = [
        await client.ask(create(path)),
        await client.ask(setData(path, 'x')),
        await client.ask(setAcl(path, OPEN)),
        await client.ask(remove(path)),
      ];
      const zxids = replies.map(({ zxid }) => zxid);
      expect(zxids).toEqual([0n, 1n, 2n, 3n].map((step) => (zxids[0] as bigint) + step));
    });

    it('that read are answered with the last zxid there is, whichever client wrote it', async () => {
      const reader = await server.connect();
      const writer = await server.connect();
      const { zxid } = await writer.ask(create(freshPath()));
      expect((await reader.ask(exists('/'))).zxid).toBe(zxid);
      expect((await reader.ask(getData('/'))).zxid).toBe(zxid);
      expect((await reader.ask(getData(freshPath()))).zxid).toBe(zxid);
    });

    it('that write and fail take a zxid as well', async () => {
      const client = await server.connect();
      const { zxid: before } = await client.ask(create(freshPath()));
      const { zxid: failed, error } = await client.ask(remove(freshPath()));
      expect(error).toBe(ERROR.noNode);
      expect(failed).toBe(before + 1n);
      expect((await client.ask(exists('/'))).zxid).toBe(failed);
    });

    it('to open a session take a zxid', async () => {
      const client = await server.connect();
      const { zxid: before } = await client.ask(exists('/'));
      const other = await server.connect();
      expect((await other.ask(exists('/'))).zxid).toBe(before + 1n);
    });

    it('to sync answer with the path, which need not exist, and take no zxid', async () => {
      const { client, path } = await server.withPath();
      const { zxid: before } = await client.ask(create(path));
      const { zxid, value } = await client.ask(sync(path));
      expect(value).toBe(path);
      expect(zxid).toBe(before);
      expect(await client.do(sync(`${path}/missing`))).toBe(`${path}/missing`);
    });

    it('to remove a watch take no zxid', async () => {
      const client = await server.connect();
      const { zxid } = await client.ask(create(freshPath()));
      const path = freshPath();
      await client.errorOf(exists(path, true));
      await client.do(removeWatches(path, WATCH.any));
      expect((await client.ask(exists('/'))).zxid).toBe(zxid);
    });
  });
});
