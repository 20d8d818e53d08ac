import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  type AclEntry,
  auth,
  CREATOR_ALL,
  check,
  create,
  exists,
  getAcl,
  getChildren,
  getChildren2,
  getData,
  MODE,
  multi,
  multiRead,
  OPEN,
  PERMISSION,
  ping,
  raw,
  remove,
  setAcl,
  setData,
  whoAmI,
  world,
} from '../support/wire/operations.js';
import { ERROR, OPERATION, XID } from '../support/wire/protocol.mjs';
import { forEachServer, freshPath } from './support/servers.js';

/** The digest that the servers derive from a user and a password. */
function digestOf(user: string, password: string): string {
  const hash = createHash('sha1').update(`${user}:${password}`).digest('base64');
  return `${user}:${hash}`;
}

const ALICE: AclEntry = { permissions: PERMISSION.all, scheme: 'digest', id: digestOf('alice', 'pw') };
const BOB: AclEntry = { permissions: PERMISSION.all, scheme: 'digest', id: digestOf('bob', 'pw') };

forEachServer((server) => {
  describe('authentication', () => {
    it('is answered with xid -4, no zxid and no error', async () => {
      const client = await server.connect();
      expect(await client.ask(auth('digest', 'alice:pw'))).toMatchObject({
        xid: -4,
        zxid: 0n,
        error: 0,
        body: Buffer.alloc(0),
      });
    });

    it('by a scheme that is not there is AUTH_FAILED, and ends the connection', async () => {
      const client = await server.connect();
      const { xid, error } = await client.ask(auth('nosuch', 'alice:pw'));
      expect({ xid, error }).toEqual({ xid: -4, error: ERROR.authFailed });
      await client.closed;
    });

    it.each(['world', 'auth', 'sasl', 'x509', 'super', '', 'Digest'])(
      'by the scheme %j is AUTH_FAILED',
      async (scheme) => {
        const client = await server.connect();
        expect(await client.errorOf(auth(scheme, 'alice:pw'))).toBe(ERROR.authFailed);
        await client.closed;
      },
    );

    it('by an address says nothing new', async () => {
      const client = await server.connect();
      expect(await client.errorOf(auth('ip', 'alice'))).toBe(ERROR.none);
      expect(await client.do(whoAmI())).toEqual([{ scheme: 'ip', id: '127.0.0.1' }]);
      expect(await client.errorOf(create(freshPath(), { acl: CREATOR_ALL }))).toBe(ERROR.invalidAcl);
    });

    it('is answered with the xid that it came with', async () => {
      const client = await server.connect();
      expect((await client.ask(auth('digest', 'alice:pw'), 5)).xid).toBe(5);
    });

    it('that cannot be read ends the connection without an answer', async () => {
      const client = await server.connect();
      await expect(client.ask(raw(OPERATION.auth, Buffer.alloc(4)), XID.auth)).rejects.toThrow();
      await client.closed;
    });

    it('that failed does not end the session', async () => {
      const client = await server.connect();
      await client.ask(auth('nosuch', 'alice:pw'));
      await client.closed;
      const again = await server.connect(client.credentials);
      expect(again.id).toBe(client.id);
    });

    it('never fails for a digest: it only adds an identity', async () => {
      const client = await server.connect();
      expect(await client.errorOf(auth('digest', 'alice:wrong'))).toBe(ERROR.none);
      expect(await client.errorOf(auth('digest', 'nocolon'))).toBe(ERROR.none);
      expect(await client.errorOf(ping())).toBe(ERROR.none);
    });

    it('shows in whoAmI: the address from the start, users without their passwords', async () => {
      const client = await server.connect();
      expect(await client.do(whoAmI())).toEqual([{ scheme: 'ip', id: '127.0.0.1' }]);
      await client.do(auth('digest', 'alice:pw'));
      await client.do(auth('digest', 'bob:pw'));
      const users = (await client.do(whoAmI())).map(({ scheme, id }) => `${scheme} ${id}`);
      expect(users.sort()).toEqual(['digest alice', 'digest bob', 'ip 127.0.0.1']);
    });

    it('twice as the same user counts once', async () => {
      const client = await server.connectAs('alice:pw');
      await client.do(auth('digest', 'alice:pw'));
      const path = freshPath();
      await client.do(create(path, { acl: CREATOR_ALL }));
      expect((await client.do(getAcl(path))).acl).toEqual([ALICE]);
    });
  });

  describe('access lists', () => {
    it('of a new node are what was asked for', async () => {
      const { client, path } = await server.withPath();
      const acl = [...world(PERMISSION.read | PERMISSION.admin), BOB];
      await client.do(create(path, { acl }));
      expect((await client.do(getAcl(path))).acl).toEqual(acl);
    });

    it('name the creator for the scheme auth', async () => {
      const client = await server.connectAs('alice:pw');
      const path = freshPath();
      await client.do(create(path, { acl: CREATOR_ALL }));
      expect((await client.do(getAcl(path))).acl).toEqual([ALICE]);
    });

    it('name every user that the creator is, each with the permissions of the entry', async () => {
      const client = await server.connectAs('alice:pw');
      await client.do(auth('digest', 'bob:pw'));
      const path = freshPath();
      const permissions = PERMISSION.read | PERMISSION.admin;
      await client.do(create(path, { acl: [{ permissions, scheme: 'auth', id: 'whatever' }] }));
      const { acl } = await client.do(getAcl(path));
      expect(acl).toHaveLength(2);
      expect(acl).toEqual(
        expect.arrayContaining([
          { ...ALICE, permissions },
          { ...BOB, permissions },
        ]),
      );
    });

    it.each<[string, AclEntry[]]>([
      ['empty', []],
      ['for the creator, without credentials', [...CREATOR_ALL]],
      ['of a scheme that is not there', [{ permissions: 31, scheme: 'nosuch', id: 'x' }]],
      ['for the world, but not anyone', [{ permissions: 31, scheme: 'world', id: 'someone' }]],
      ['of a digest without a colon', [{ permissions: 31, scheme: 'digest', id: 'alice' }]],
      ['of an address that is none', [{ permissions: 31, scheme: 'ip', id: '1.2.3' }]],
      ['half wrong', [...OPEN, { permissions: 31, scheme: 'nosuch', id: 'x' }]],
    ])('that are %s are INVALID_ACL for create and setACL', async (_name, acl) => {
      const { client, path } = await server.withNode();
      expect(await client.errorOf(create(`${path}/child`, { acl }))).toBe(ERROR.invalidAcl);
      expect(await client.errorOf(setAcl(path, acl))).toBe(ERROR.invalidAcl);
      expect(await client.do(getAcl(path))).toMatchObject({ acl: OPEN, stat: { aversion: 0 } });
    });

    it.each([
      ['digest', ['alice:x', ':x', 'alice:x:'], ['alice', 'alice:', ':', '', 'alice:x:y']],
      [
        'ip',
        ['1.2.3.4', '1.2.3.4/0', '1.2.3.4/32', '01.2.3.4'],
        ['1.2.3', '256.1.1.1', '1.2.3.4/33', '1.2.3.4/-1', '1.2.3.4/', '1.2.3.4/8/8', 'localhost', ''],
      ],
      ['sasl', [], ['anyone']],
      ['super', [], ['anyone']],
      ['', [], ['anyone']],
    ])('of the scheme %j know a right id from a wrong one', async (scheme, right, wrong) => {
      const client = await server.connect();
      const errorOf = (id: string) =>
        client.errorOf(create(freshPath(), { acl: [{ permissions: PERMISSION.all, scheme, id }] }));
      for (const id of right) expect(await errorOf(id), id).toBe(ERROR.none);
      for (const id of wrong) expect(await errorOf(id), id).toBe(ERROR.invalidAcl);
    });

    it('may give permissions that do not exist, and keep them', async () => {
      const client = await server.connect();
      for (const permissions of [0, 32, 63, -1]) {
        const path = freshPath();
        await client.do(create(path, { acl: [...OPEN, ...world(permissions)] }));
        expect((await client.do(getAcl(path))).acl).toEqual([...OPEN, ...world(permissions)]);
      }
    });

    it('that are wrong are INVALID_ACL even where the node is missing', async () => {
      const client = await server.connect();
      expect(await client.errorOf(create(`${freshPath()}/child`, { acl: [] }))).toBe(ERROR.invalidAcl);
      expect(await client.errorOf(setAcl(freshPath(), []))).toBe(ERROR.invalidAcl);
    });

    it('name no identity twice', async () => {
      const { client, path } = await server.withNode({ acl: [...OPEN, ...OPEN] });
      expect((await client.do(getAcl(path))).acl).toEqual(OPEN);
    });

    it('are written at a version: any for -1, only the right one else', async () => {
      const { client, path } = await server.withNode();
      await client.do(setData(path, 'x'));
      expect((await client.do(setAcl(path, OPEN, 0))).aversion).toBe(1);
      expect(await client.errorOf(setAcl(path, OPEN, 0))).toBe(ERROR.badVersion);
      expect((await client.do(setAcl(path, OPEN, -1))).aversion).toBe(2);
    });

    it('are not inherited', async () => {
      const client = await server.connectAs('alice:pw');
      const path = freshPath();
      await client.do(create(path, { acl: CREATOR_ALL }));
      await client.do(create(`${path}/child`));
      const other = await server.connect();
      expect(await other.errorOf(getData(path))).toBe(ERROR.noAuth);
      expect(await other.errorOf(getData(`${path}/child`))).toBe(ERROR.none);
    });

    it('count for the client that made them too', async () => {
      const { client, path } = await server.withNode({ acl: world(PERMISSION.read) });
      expect(await client.errorOf(setData(path, 'x'))).toBe(ERROR.noAuth);
      expect(await client.errorOf(setAcl(path, OPEN))).toBe(ERROR.noAuth);
    });

    it('hide a digest from clients that may read but not administer', async () => {
      const alice = await server.connectAs('alice:pw');
      const path = freshPath();
      const readers = world(PERMISSION.read);
      await alice.do(create(path, { acl: [ALICE, ...readers] }));
      const other = await server.connect();
      expect((await other.do(getAcl(path))).acl).toEqual([{ ...ALICE, id: 'alice:x' }, ...readers]);
      expect((await alice.do(getAcl(path))).acl).toEqual([ALICE, ...readers]);
    });

    it('may name addresses, and networks', async () => {
      const { client, path } = await server.withPath();
      const acl = (id: string) => [{ permissions: PERMISSION.all, scheme: 'ip', id }];
      await client.do(create(path, { acl: acl('127.0.0.1') }));
      expect(await client.errorOf(setData(path, 'x'))).toBe(ERROR.none);
      await client.do(setAcl(path, acl('127.0.0.0/8')));
      expect(await client.errorOf(setData(path, 'x'))).toBe(ERROR.none);
      await client.do(setAcl(path, acl('10.0.0.0/8')));
      expect(await client.errorOf(setData(path, 'x'))).toBe(ERROR.noAuth);
    });
  });

  describe('permissions', () => {
    /** Creates a node that gives all clients these permissions, in a parent that gives them the second ones. */
    async function nodeWith(permissions: number, parentPermissions: number = PERMISSION.all) {
      const client = await server.connect();
      const parent = freshPath();
      await client.do(create(parent));
      const path = `${parent}/node`;
      await client.do(create(path, { data: 'data', acl: world(permissions) }));
      await client.do(setAcl(parent, world(parentPermissions)));
      return { client, parent, path };
    }
    const without = (permission: number) => PERMISSION.all & ~permission;

    it('to read are asked for by getData, getChildren and a check', async () => {
      const { client, path } = await nodeWith(without(PERMISSION.read));
      expect(await client.errorOf(getData(path))).toBe(ERROR.noAuth);
      expect(await client.errorOf(getChildren(path))).toBe(ERROR.noAuth);
      expect(await client.errorOf(getChildren2(path))).toBe(ERROR.noAuth);
      expect(await client.do(multi(check(path, -1)))).toMatchObject([{ error: ERROR.noAuth }]);
      expect(await client.do(multiRead(getData(path)))).toMatchObject([{ error: ERROR.noAuth }]);
    });

    // ZOOKEEPER-2590.
    const existsNeedsRead = server.isSince('3.8.4', '3.9.2');
    it(`to read are ${existsNeedsRead ? '' : 'not '}asked for by exists`, async () => {
      const { client, path } = await nodeWith(without(PERMISSION.read));
      expect(await client.errorOf(exists(path))).toBe(existsNeedsRead ? ERROR.noAuth : ERROR.none);
    });

    it('are not asked for by exists once the node is gone', async () => {
      const { client, path } = await nodeWith(without(PERMISSION.read));
      await client.do(remove(path));
      expect(await client.errorOf(exists(path))).toBe(ERROR.noNode);
    });

    it('to read are enough for all reads, and for nothing else', async () => {
      const { client, path } = await nodeWith(PERMISSION.read);
      for (const read of [getData, getChildren, getChildren2, getAcl])
        expect(await client.errorOf(read(path))).toBe(ERROR.none);
      expect(await client.errorOf(setData(path, 'x'))).toBe(ERROR.noAuth);
      expect(await client.errorOf(create(`${path}/child`))).toBe(ERROR.noAuth);
      expect(await client.errorOf(setAcl(path, OPEN))).toBe(ERROR.noAuth);
    });

    it('to read or to administer are asked for by getACL', async () => {
      const neither = await nodeWith(PERMISSION.write | PERMISSION.create | PERMISSION.delete);
      expect(await neither.client.errorOf(getAcl(neither.path))).toBe(ERROR.noAuth);
      const admin = await nodeWith(PERMISSION.admin);
      expect(await admin.client.errorOf(getAcl(admin.path))).toBe(ERROR.none);
    });

    it('to write are asked for by setData, and enough for it', async () => {
      const none = await nodeWith(without(PERMISSION.write));
      expect(await none.client.errorOf(setData(none.path, 'x'))).toBe(ERROR.noAuth);
      const only = await nodeWith(PERMISSION.write);
      expect(await only.client.errorOf(setData(only.path, 'x'))).toBe(ERROR.none);
    });

    it('to create are asked of the parent', async () => {
      const none = await nodeWith(PERMISSION.all, without(PERMISSION.create));
      expect(await none.client.errorOf(create(`${none.parent}/other`))).toBe(ERROR.noAuth);
      const only = await nodeWith(PERMISSION.all, PERMISSION.create);
      expect(await only.client.errorOf(create(`${only.parent}/other`))).toBe(ERROR.none);
    });

    it('to create are asked for before whether the node is there', async () => {
      const { client, path } = await nodeWith(PERMISSION.all, without(PERMISSION.create));
      expect(await client.errorOf(create(path))).toBe(ERROR.noAuth);
    });

    it('to delete are asked of the parent, not of the node', async () => {
      const none = await nodeWith(PERMISSION.all, without(PERMISSION.delete));
      expect(await none.client.errorOf(remove(none.path))).toBe(ERROR.noAuth);
      const only = await nodeWith(0, PERMISSION.delete);
      expect(await only.client.errorOf(remove(only.path))).toBe(ERROR.none);
    });

    it('to administer are asked for by setACL, and enough for it', async () => {
      const none = await nodeWith(without(PERMISSION.admin));
      expect(await none.client.errorOf(setAcl(none.path, OPEN))).toBe(ERROR.noAuth);
      const only = await nodeWith(PERMISSION.admin);
      expect(await only.client.errorOf(setAcl(only.path, OPEN))).toBe(ERROR.none);
      expect(await only.client.errorOf(getData(only.path))).toBe(ERROR.none);
    });

    it('are asked for before the version', async () => {
      const { client, path } = await nodeWith(PERMISSION.read);
      expect(await client.errorOf(setData(path, 'x', 9))).toBe(ERROR.noAuth);
    });

    it('of a user are those of any client with the password', async () => {
      const alice = await server.connectAs('alice:pw');
      const path = freshPath();
      await alice.do(create(path, { data: 'secret', acl: CREATOR_ALL }));
      const other = await server.connect();
      expect(await other.errorOf(getData(path))).toBe(ERROR.noAuth);
      await other.do(auth('digest', 'alice:wrong'));
      expect(await other.errorOf(getData(path))).toBe(ERROR.noAuth);
      await other.do(auth('digest', 'alice:pw'));
      expect((await other.do(getData(path))).data).toEqual(Buffer.from('secret'));
    });

    it('add up over the entries that fit', async () => {
      const { client, path } = await nodeWith(PERMISSION.all);
      await client.do(auth('digest', 'alice:pw'));
      await client.do(setAcl(path, [...world(PERMISSION.read), { ...ALICE, permissions: PERMISSION.write }]));
      expect(await client.errorOf(getData(path))).toBe(ERROR.none);
      expect(await client.errorOf(setData(path, 'x'))).toBe(ERROR.none);
      const other = await server.connect();
      expect(await other.errorOf(setData(path, 'x'))).toBe(ERROR.noAuth);
    });

    it('are asked for by the parts of a transaction, and one that is missing undoes all', async () => {
      const { client, parent, path } = await nodeWith(PERMISSION.read);
      const results = await client.do(multi(create(`${parent}/other`), setData(path, 'x')));
      expect(results.map(({ error }) => error)).toEqual([ERROR.none, ERROR.noAuth]);
      expect(await client.do(getChildren(parent))).toEqual(['node']);
    });

    it('set by a part of a transaction count for the parts behind it', async () => {
      const { client, path } = await nodeWith(PERMISSION.all);
      const locked = create(`${path}/locked`, { acl: world(PERMISSION.read) });
      const results = await client.do(multi(locked, setData(`${path}/locked`, 'x')));
      expect(results.map(({ error }) => error)).toEqual([ERROR.none, ERROR.noAuth]);
    });

    it('do not keep a session from its ephemeral nodes: they go with it', async () => {
      const { client, parent } = await nodeWith(PERMISSION.all, PERMISSION.create | PERMISSION.admin);
      await client.do(create(`${parent}/mine`, { mode: MODE.ephemeral, acl: world(PERMISSION.read) }));
      const other = await server.connect();
      expect(await other.errorOf(remove(`${parent}/mine`))).toBe(ERROR.noAuth);
      await client.close();
      expect(await other.errorOf(exists(`${parent}/mine`))).toBe(ERROR.noNode);
    });
  });
});
