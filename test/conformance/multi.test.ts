import { describe, expect, it } from 'vitest';
import {
  check,
  create,
  create2,
  createContainer,
  createTtl,
  exists,
  getChildren,
  getData,
  MODE,
  multi,
  multiRead,
  OPEN,
  type PartResult,
  PERMISSION,
  remove,
  setAcl,
  setData,
  world,
} from '../support/wire/operations.js';
import { ERROR, OPERATION } from '../support/wire/protocol.mjs';
import { forEachServer, freshPath } from './support/servers.js';

/** The error codes of the parts of a transaction. */
function errorsOf(results: readonly PartResult[] | undefined): (number | undefined)[] | undefined {
  return results?.map(({ error }) => error);
}

forEachServer((server) => {
  describe('a transaction', () => {
    // ZOOKEEPER-4667.
    const tellsStat = server.isSince('3.9.0');
    it(`answers a path for a create, for create2 ${tellsStat ? 'a stat too' : 'as well'}, and a stat for a write`, async () => {
      const { client, path } = await server.withPath();
      const { zxid, value } = await client.ask(
        multi(create(path), setData(path, 'ab'), check(path, 1), create2(`${path}/c`), remove(`${path}/c`)),
      );
      expect(value).toEqual([
        { type: OPERATION.create, path },
        {
          type: OPERATION.setData,
          stat: expect.objectContaining({ version: 1, mzxid: zxid, dataLength: 2 }),
        },
        { type: OPERATION.check },
        tellsStat
          ? { type: OPERATION.create2, path: `${path}/c`, stat: expect.objectContaining({ czxid: zxid }) }
          : { type: OPERATION.create, path: `${path}/c` },
        { type: OPERATION.delete },
      ]);
    });

    it('answers a write with the number of children as it was in the middle of the transaction', async () => {
      const { client, path } = await server.withNode();
      const { value } = await client.ask(
        multi(create(`${path}/a`), setData(path, 'ab'), create(`${path}/b`), setData(path, 'c')),
      );
      const children = value?.map((part) => ('stat' in part ? part.stat?.numChildren : undefined));
      expect(children).toEqual([undefined, 1, undefined, 2]);
    });

    it('takes one zxid for all its parts', async () => {
      const { client, path } = await server.withPath();
      const { zxid: before } = await client.ask(exists('/'));
      const { zxid } = await client.ask(multi(create(path), create(`${path}/a`), create(`${path}/b`)));
      expect(zxid).toBe(before + 1n);
      expect((await client.do(exists(`${path}/a`))).czxid).toBe(zxid);
      expect((await client.do(exists(`${path}/b`))).czxid).toBe(zxid);
    });

    it('sees in each part what those before it did', async () => {
      const { client, path } = await server.withPath();
      const results = await client.do(
        multi(
          create(path),
          setData(path, 'a', 0),
          setData(path, 'b', 1),
          remove(path, 2),
          create(path, { data: 'new' }),
          check(path, 0),
        ),
      );
      expect(errorsOf(results)).toEqual(Array(6).fill(undefined));
      expect((await client.do(getData(path))).data).toEqual(Buffer.from('new'));
    });

    it('that fails says which part: 0 before it, its error, -2 after it', async () => {
      const { client, path } = await server.withPath();
      const { error, value } = await client.ask(
        multi(create(path), create(`${path}/a`), remove(`${path}/missing`), setData(path, 'x'), remove(path)),
      );
      expect(error).toBe(ERROR.none);
      expect(value).toEqual(
        [ERROR.none, ERROR.none, ERROR.noNode, ERROR.runtimeInconsistency, ERROR.runtimeInconsistency].map(
          (code) => ({ type: OPERATION.error, error: code }),
        ),
      );
    });

    it('that fails takes a zxid', async () => {
      const client = await server.connect();
      const { zxid: before } = await client.ask(exists('/'));
      const { zxid } = await client.ask(multi(remove(freshPath())));
      expect(zxid).toBe(before + 1n);
    });

    it('that fails has done nothing', async () => {
      const { client, path } = await server.withNode({ data: 'old' });
      await client.do(create(`${path}/kept`));
      const before = await client.do(getData(path));
      const { value } = await client.ask(
        multi(
          setData(path, 'new'),
          create(`${path}/made`),
          remove(`${path}/kept`),
          create(`${path}/mine`, { mode: MODE.ephemeral }),
          create(`${path}/kept/below`),
        ),
      );
      expect(errorsOf(value)).toEqual([0, 0, 0, 0, ERROR.noNode]);
      expect(await client.do(getData(path))).toEqual(before);
      expect(await client.do(getChildren(path))).toEqual(['kept']);
    });

    it('fails at a part at the wrong version, and says so', async () => {
      const { client, path } = await server.withNode();
      const { value } = await client.ask(multi(setData(path, 'x', 0), setData(path, 'y', 0)));
      expect(errorsOf(value)).toEqual([0, ERROR.badVersion]);
      expect((await client.do(exists(path))).version).toBe(0);
    });

    it('of a check alone changes nothing, and takes a zxid', async () => {
      const { client, path } = await server.withPath();
      const { value: created, zxid } = await client.ask(create2(path));
      const reply = await client.ask(multi(check(path, 0)));
      expect(reply.value).toEqual([{ type: OPERATION.check }]);
      expect(reply.zxid).toBe(zxid + 1n);
      expect(await client.do(exists(path))).toEqual(created?.stat);
    });

    it('checks a version: any for -1, only the right one else', async () => {
      const { client, path } = await server.withNode();
      await client.do(setData(path, 'x'));
      expect(errorsOf(await client.do(multi(check(path, -1))))).toEqual([undefined]);
      expect(errorsOf(await client.do(multi(check(path, 1))))).toEqual([undefined]);
      expect(errorsOf(await client.do(multi(check(path, 0))))).toEqual([ERROR.badVersion]);
      expect(errorsOf(await client.do(multi(check(path, 2))))).toEqual([ERROR.badVersion]);
    });

    it('with a check of a missing node is NO_NODE', async () => {
      const { client, path } = await server.withPath();
      const { value } = await client.ask(multi(create(path), check(`${path}/missing`, -1)));
      expect(errorsOf(value)).toEqual([0, ERROR.noNode]);
      expect(await client.errorOf(exists(path))).toBe(ERROR.noNode);
    });

    it('checks the version that a part before it made', async () => {
      const { client, path } = await server.withNode();
      expect(errorsOf(await client.do(multi(setData(path, 'x'), check(path, 1))))).toEqual([
        undefined,
        undefined,
      ]);
      expect(errorsOf(await client.do(multi(setData(path, 'x'), check(path, 1))))).toEqual([
        0,
        ERROR.badVersion,
      ]);
    });

    it('without parts does nothing, and has no results', async () => {
      const client = await server.connect();
      const { error, value } = await client.ask(multi());
      expect(error).toBe(ERROR.none);
      expect(value).toEqual([]);
    });

    it.each([
      ['NODE_EXISTS', ERROR.nodeExists, (path: string) => create(path)],
      ['NOT_EMPTY', ERROR.notEmpty, (path: string) => remove(path)],
      ['NO_NODE', ERROR.noNode, (path: string) => create(`${path}/missing/child`)],
      [
        'NO_CHILDREN_FOR_EPHEMERALS',
        ERROR.noChildrenForEphemerals,
        (path: string) => create(`${path}/ephemeral/child`),
      ],
      ['BAD_ARGUMENTS', ERROR.badArguments, (path: string) => create(`${path}/..`)],
      ['INVALID_ACL', ERROR.invalidAcl, (path: string) => create(`${path}/new`, { acl: [] })],
    ])('has %s inside as its own error', async (_name, code, part) => {
      const { client, path } = await server.withNode();
      await client.do(create(`${path}/ephemeral`, { mode: MODE.ephemeral }));
      const { value } = await client.ask(multi(setData(path, 'x'), part(path)));
      expect(errorsOf(value)).toEqual([0, code]);
      expect((await client.do(exists(path))).version).toBe(0);
    });

    it('makes a container, and then answers its stat as well', async () => {
      const { client, path } = await server.withPath();
      const stat = expect.objectContaining({ ephemeralOwner: 0n, version: 0 });
      for (const part of [createContainer(`${path}-1`), create2(`${path}-2`, { mode: MODE.container })])
        expect(await client.do(multi(part))).toMatchObject([{ type: OPERATION.create2, stat }]);
    });

    it('with a node that has a time to live is UNIMPLEMENTED in its part', async () => {
      const { client, path } = await server.withPath();
      const results = await client.do(multi(create(path), createTtl(`${path}/child`, 10_000n)));
      expect(errorsOf(results)).toEqual([0, ERROR.unimplemented]);
    });

    it('with the mode of a node with a time to live in a plain create is a MARSHALLING_ERROR as a whole', async () => {
      const { client, path } = await server.withPath();
      const parts = [create(path), create(`${path}/child`, { mode: MODE.ttl })];
      expect(await client.errorOf(multi(...parts))).toBe(ERROR.marshalling);
      expect(await client.errorOf(exists(path))).toBe(ERROR.noNode);
    });

    it.each([
      ['an access list', () => setAcl('/', OPEN)],
      ['a question whether a node is there', () => exists('/')],
      ['a question for data', () => getData('/')],
      ['a transaction', () => multi()],
    ])('cannot hold %s: it is a MARSHALLING_ERROR', async (_name, part) => {
      const { client, path } = await server.withPath();
      expect(await client.errorOf(multi(create(path), part()))).toBe(ERROR.marshalling);
      expect(await client.errorOf(exists(path))).toBe(ERROR.noNode);
    });

    it('makes ephemeral nodes, which go with the session', async () => {
      const client = await server.connect();
      const other = await server.connect();
      const path = freshPath();
      await client.do(multi(create(path), create(`${path}/mine`, { mode: MODE.ephemeral })));
      expect((await other.do(exists(`${path}/mine`))).ephemeralOwner).toBe(client.id);
      await client.close();
      expect(await other.do(getChildren(path))).toEqual([]);
    });

    it('that failed leaves no ephemeral node to its session', async () => {
      const client = await server.connect();
      const other = await server.connect();
      const path = freshPath();
      await client.do(create(path));
      await client.ask(multi(create(`${path}/a`, { mode: MODE.ephemeral }), remove(`${path}/missing`)));
      await other.do(create(`${path}/a`));
      await client.close();
      expect(await other.do(getChildren(path))).toEqual(['a']);
    });

    it('counts in cversion of a parent for each of its creates and deletes', async () => {
      const { client, path } = await server.withNode();
      const { zxid } = await client.ask(
        multi(create(`${path}/a`), create(`${path}/b`), remove(`${path}/a`), create(`${path}/c`)),
      );
      expect(await client.do(exists(path))).toMatchObject({ cversion: 4, numChildren: 2, pzxid: zxid });
    });

    it('that creates a node and deletes it proves that there was none, by a name that a server gave too, and leaves none', async () => {
      const [owner, other, watcher] = [
        await server.connect(),
        await server.connect(),
        await server.connect(),
      ];
      const path = freshPath();
      await owner.do(create(path));
      const name = (await owner.do(create(`${path}/n-`, { mode: MODE.ephemeralSequential }))) as string;
      const prove = async () => errorsOf(await other.do(multi(create(name), remove(name))));
      expect(await prove()).toEqual([ERROR.nodeExists, ERROR.runtimeInconsistency]);
      await owner.close();
      for (const watch of [getData, getChildren]) await watcher.do<unknown>(watch(path, true));
      expect(await prove()).toEqual([undefined, undefined]);
      expect(await watcher.do(getChildren(path))).toEqual([]);
      expect(watcher.events).toEqual([`children ${path}`]);
      expect(await other.do(create(`${path}/n-`, { mode: MODE.ephemeralSequential }))).toBe(
        `${path}/n-0000000002`,
      );
      await other.do(setAcl(path, world(PERMISSION.all - PERMISSION.create)));
      expect(await prove()).toEqual([ERROR.noAuth, ERROR.runtimeInconsistency]);
    });

    it('deletes a parent after its children', async () => {
      const { client, path } = await server.withNode();
      await client.do(create(`${path}/child`));
      const { value } = await client.ask(multi(remove(path), remove(`${path}/child`)));
      expect(errorsOf(value)).toEqual([ERROR.notEmpty, ERROR.runtimeInconsistency]);
      await client.do(multi(remove(`${path}/child`), remove(path)));
      expect(await client.errorOf(exists(path))).toBe(ERROR.noNode);
    });
  });

  describe('a transaction of reads', () => {
    it('answers data and children, as they are in one moment', async () => {
      const { client, path } = await server.withNode({ data: 'data' });
      await client.do(create(`${path}/child`));
      const stat = await client.do(exists(path));
      expect(await client.do(multiRead(getData(path), getChildren(path)))).toEqual([
        { type: OPERATION.getData, data: Buffer.from('data'), stat },
        { type: OPERATION.getChildren, children: ['child'] },
      ]);
    });

    it('goes on after a part that failed', async () => {
      const { client, path } = await server.withNode({ data: 'data' });
      const results = await client.do(
        multiRead(getData(freshPath()), getChildren(path), getChildren('/missing')),
      );
      expect(results).toEqual([
        { type: OPERATION.error, error: ERROR.noNode },
        { type: OPERATION.getChildren, children: [] },
        { type: OPERATION.error, error: ERROR.noNode },
      ]);
    });

    it('takes no zxid', async () => {
      const client = await server.connect();
      const { zxid } = await client.ask(create(freshPath()));
      expect((await client.ask(multiRead(getData('/')))).zxid).toBe(zxid);
    });
  });
});
