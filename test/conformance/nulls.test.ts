import { describe, expect, it } from 'vitest';
import { Writer } from '../support/wire/jute.mjs';
import {
  type AclEntry,
  auth,
  CREATOR_ALL,
  create,
  createTtl,
  exists,
  getAcl,
  getChildren,
  getData,
  multi,
  OPEN,
  type Operation,
  remove,
  removeWatches,
  setAcl,
  setData,
  setWatches,
  sync,
  WATCH,
} from '../support/wire/operations.js';
import { ERROR } from '../support/wire/protocol.mjs';
import { forEachServer, freshPath } from './support/servers.js';

const NULL = null as never;
const entry = (scheme: string | null, id: string | null, permissions = 31) =>
  ({ permissions, scheme, id }) as AclEntry;
const createWith = (...acl: AclEntry[]) => create(freshPath(), { acl });

function authNull(scheme: string | null, credentials: string | null): Operation<undefined> {
  const body = new Writer().int(0).string(scheme).string(credentials).done();
  return { ...auth('', ''), body };
}

const withPaths = (write: (writer: Writer) => Writer): Operation<undefined> => ({
  ...setWatches({ seenZxid: 0n }),
  body: write(new Writer().long(0n)).done(),
});

forEachServer((server) => {
  describe('null in place of a string', () => {
    it("is taken as the id of the scheme auth: kazoo's CREATOR_ALL_ACL got MARSHALLING_ERROR", async () => {
      const client = await server.connectAs('alice:pw');
      const [path, other] = [freshPath(), freshPath()];
      await client.do(create(path, { acl: [entry('auth', null)] }));
      await client.do(create(other));
      await client.do(setAcl(other, [entry('auth', null)]));
      await client.do(multi(createWith(entry('auth', null))));
      await client.do(create(`${path}/creator`, { acl: CREATOR_ALL }));
      const { acl } = await client.do(getAcl(`${path}/creator`));
      expect(acl).toHaveLength(1);
      expect((await client.do(getAcl(path))).acl).toEqual(acl);
      expect((await client.do(getAcl(other))).acl).toEqual(acl);
    });

    it('is taken as the path of a sync, and comes back', async () => {
      const client = await server.connect();
      expect(await client.ask(sync(NULL))).toMatchObject({ error: ERROR.none, value: null });
    });

    it.each<[string, () => Operation<unknown>, number]>([
      ['auth of a client without identity', () => createWith(entry('auth', null)), ERROR.invalidAcl],
      ['a scheme that is not there', () => createWith(entry('nosuch', null)), ERROR.invalidAcl],
      ['sasl on a server without it', () => createWith(entry('sasl', null)), ERROR.invalidAcl],
      ['no scheme', () => createWith(entry(null, 'anyone')), ERROR.invalidAcl],
      ['no scheme, before others', () => createWith(entry(null, null), ...OPEN), ERROR.invalidAcl],
      [
        'no scheme, behind others',
        () => createWith(entry('world', 'anyone', 1), entry(null, null)),
        ERROR.invalidAcl,
      ],
      ['world', () => createWith(entry('world', null)), ERROR.marshalling],
      ['digest', () => createWith(entry('digest', null)), ERROR.marshalling],
      ['ip', () => createWith(entry('ip', null)), ERROR.marshalling],
      [
        'an entry that has to be compared with one before',
        () => createWith(...OPEN, entry(null, null)),
        ERROR.marshalling,
      ],
    ])('in an access list gets the same error as from ZooKeeper: %s', async (_, make, error) => {
      const client = await server.connect();
      expect(await client.errorOf(make())).toBe(error);
      expect(client.isClosed).toBe(false);
    });

    it.each<[string, () => Operation<unknown>, number]>([
      ['create', () => create(NULL), ERROR.marshalling],
      ['delete', () => remove(NULL), ERROR.marshalling],
      ['exists', () => exists(NULL, true), ERROR.marshalling],
      ['getData', () => getData(NULL, true), ERROR.marshalling],
      ['getChildren', () => getChildren(NULL, true), ERROR.marshalling],
      ['getACL', () => getAcl(NULL), ERROR.marshalling],
      ['multi', () => multi(setData(NULL, 'x')), ERROR.marshalling],
      ['setData', () => setData(NULL, 'x'), ERROR.badArguments],
      ['setACL', () => setAcl(NULL, OPEN), ERROR.badArguments],
      ['createTTL', () => createTtl(NULL, 1000n), ERROR.unimplemented],
      ['removeWatches', () => removeWatches(NULL, WATCH.any), ERROR.noWatcher],
      ['setWatches', () => withPaths((to) => to.int(-1).int(-1).int(-1)), ERROR.marshalling],
      [
        'setWatches, as one of the paths',
        () =>
          withPaths((to) =>
            to
              .vector([null], (path) => to.string(path))
              .int(0)
              .int(0),
          ),
        ERROR.marshalling,
      ],
    ])('as a path gets the same error as from ZooKeeper: %s', async (_, make, error) => {
      const client = await server.connect();
      expect(await client.errorOf(make())).toBe(error);
      expect(client.isClosed).toBe(false);
    });

    it.each<[string, string | null, string | null]>([
      ['scheme', null, 'alice:pw'],
      ['credentials of digest', 'digest', null],
    ])('as the %s is AUTH_FAILED, and ends the connection', async (_, scheme, credentials) => {
      const client = await server.connect();
      expect(await client.errorOf(authNull(scheme, credentials))).toBe(ERROR.authFailed);
      await client.closed;
    });
  });
});
