import { describe, expect, it } from 'vitest';
import { authenticate, type Claim, type Directives, quoted } from '../support/wire/digest-md5.js';
import {
  auth,
  CREATOR_ALL,
  closeSession,
  create,
  exists,
  getAcl,
  getData,
  MODE,
  OPEN,
  type Operation,
  PERMISSION,
  ping,
  raw,
  sasl,
  setData,
  setWatches,
  sync,
  whoAmI,
} from '../support/wire/operations.js';
import { ERROR, OPERATION } from '../support/wire/protocol.mjs';
import type { RawClient } from '../support/wire/raw-client.js';
import { forARealServer, forEachServer, freshPath, type TestServer } from './support/servers.js';

const saslUsers = {
  super: 'super-secret',
  worker: 'worker-secret',
  other: 'other-secret',
  jürgen: 'pässword',
  日本: '語',
  odd: 'a"b\\c, d=e',
};
const WORKER: Claim = { username: 'worker', password: saslUsers.worker };
const OTHER: Claim = { username: 'other', password: saslUsers.other };
const SUPER: Claim = { username: 'super', password: saslUsers.super };
const WRONG: Claim = { ...WORKER, password: 'wrong' };
const UNKNOWN: Claim = { username: 'stranger', password: 'wrong' };

/** The reply to a token that the server refuses. Then the connection ends. */
async function expectRefusal(client: RawClient, asked: Promise<{ body: Buffer }>, error: number) {
  expect(await asked).toMatchObject({ error, zxid: 0n, body: Buffer.from([255, 255, 255, 255]) });
  await client.closed;
}

async function expectEnd(client: RawClient, asked: Promise<unknown>) {
  await expect(asked).rejects.toThrow('before a reply');
  await client.closed;
}

async function expectAcceptance(client: RawClient, claim: Claim, edit?: (right: Directives) => Directives) {
  const { error, zxid, value } = await authenticate(client, claim, edit);
  expect({ error, zxid }).toEqual({ error: ERROR.none, zxid: 0n });
  expect(String(value)).toMatch(/^rspauth=[\da-f]{32}$/);
}

async function connectAs(server: TestServer, claim: Claim, of?: RawClient): Promise<RawClient> {
  const client = await server.connect(of?.credentials);
  await expectAcceptance(client, claim);
  return client;
}

async function createEphemeral(client: RawClient): Promise<string> {
  const path = freshPath();
  await client.do(create(path, { acl: CREATOR_ALL, mode: MODE.ephemeral }));
  return path;
}

forEachServer(
  (server) => {
    describe('DIGEST-MD5', () => {
      it.each(['', 'anything'])(
        'begins with a challenge, whatever the first token is (%j)',
        async (token) => {
          const client = await server.connect();
          const { error, zxid, value } = await client.ask(sasl(token));
          expect({ error, zxid }).toEqual({ error: ERROR.none, zxid: 0n });
          expect(String(value)).toMatch(
            /^realm="zk-sasl-md5",nonce="[\w+/]{40}",charset=utf-8,algorithm=md5-sess$/,
          );
        },
      );

      it('has another challenge for each connection', async () => {
        const clients = [await server.connect(), await server.connect()];
        const [one, two] = await Promise.all(clients.map((client) => client.do(sasl(''))));
        expect(String(one)).not.toBe(String(two));
      });

      it.each(Object.entries(saslUsers))(
        'gives %s an identity of the scheme sasl',
        async (name, password) => {
          const client = await connectAs(server, { username: name, password });
          const identities = (await client.do(whoAmI())).map(({ scheme, id }) => `${scheme} ${id}`);
          expect(identities.sort()).toEqual([`ip 127.0.0.1`, `sasl ${name}`]);
        },
      );

      it('takes requests before and during the exchange, without that identity', async () => {
        const { client, path } = await server.withNode();
        await client.do(sasl(''));
        expect(await client.errorOf(getData(path))).toBe(ERROR.none);
        expect(await client.errorOf(create(freshPath(), { acl: CREATOR_ALL }))).toBe(ERROR.invalidAcl);
      });

      it.each([
        ['a wrong password', WRONG],
        ['an unknown user', UNKNOWN],
        ["another user's password", { ...WORKER, password: saslUsers.other }],
      ])('refuses %s with AUTH_FAILED and no token, and ends the connection', async (_, claim) => {
        const client = await server.connect();
        await expectRefusal(client, authenticate(client, claim), ERROR.authFailed);
      });

      it('keeps the session of a client that it refused', async () => {
        const client = await server.connect();
        await expectRefusal(client, authenticate(client, WRONG), ERROR.authFailed);
        const again = await connectAs(server, WORKER, client);
        expect(again.id).toBe(client.id);
      });

      it('is refused the second time on a connection, which then ends', async () => {
        const client = await connectAs(server, WORKER);
        await expectRefusal(client, client.ask(sasl('')), ERROR.authFailed);
      });

      it.each([
        ['has length -1', sasl(null)],
        ['is missing', raw(OPERATION.sasl)],
        ['is cut off', raw(OPERATION.sasl, Buffer.from([0, 0, 0, 9, 1]))],
        ['has a negative length', raw(OPERATION.sasl, Buffer.from([255, 255, 255, 254]))],
      ])('ends the connection without a reply if a token %s', async (_, operation: Operation<unknown>) => {
        const first = await server.connect();
        await expectEnd(first, first.ask(operation));
        const second = await server.connect();
        await second.do(sasl(''));
        await expectEnd(second, second.ask(operation));
      });

      it.each<[string, Partial<Claim>, Directives]>([
        ['another number of uses of the nonce', {}, { nc: '00000002' }],
        ['no number of uses of the nonce', {}, { nc: undefined }],
        ['a right nonce-count', {}, { 'nonce-count': '00000001' }],
        ['no character set', {}, { charset: undefined }],
        ['no longest buffer', {}, { maxbuf: undefined }],
        ['a negative longest buffer', {}, { maxbuf: '-1' }],
        ['no qop', {}, { qop: undefined }],
        ['qop in quotation marks', {}, { qop: '"auth"' }],
        ['a directive that it does not know', {}, { unknown: 'directive' }],
        ['a cipher', {}, { cipher: 'rc4' }],
        ['text without quotation marks', {}, { username: 'worker' }],
        ['characters that are quoted for no reason', {}, { username: '"\\w\\orker"' }],
        ['the names of directives in capitals', {}, { username: undefined, USERNAME: '"worker"' }],
        ['white space', {}, { ' \t qop': undefined, 'unknown ': ' x ,, ,' }],
        ['the URI in capitals', { uri: 'ZooKeeper/zk-sasl-md5' }, {}],
        ['no characters as cnonce', { cnonce: '' }, {}],
      ])('accepts %s', async (_, claim, directives) => {
        const client = await server.connect();
        await expectAcceptance(client, { ...WORKER, ...claim }, (right) => ({ ...right, ...directives }));
      });

      it('ignores which user a client wants to act as', async () => {
        const client = await connectAs(server, { ...WORKER, authzid: 'other' });
        expect(await client.do(whoAmI())).toContainEqual({ scheme: 'sasl', id: 'worker' });
      });

      it.each<[string, Partial<Claim>, Directives]>([
        ['a wrong nonce-count', {}, { 'nonce-count': '2' }],
        ['the character set ISO 8859-1', {}, { charset: 'iso-8859-1' }],
        ['the character set in capitals', {}, { charset: 'UTF-8' }],
        ['no realm', {}, { realm: undefined }],
        ['another realm', {}, { realm: '"elsewhere"' }],
        ['no nonce', {}, { nonce: undefined }],
        ['another nonce', {}, { nonce: '"other"' }],
        ['no cnonce', {}, { cnonce: undefined }],
        ['the qop auth-int', {}, { qop: 'auth-int' }],
        ['the qop in capitals', {}, { qop: 'AUTH' }],
        ['no URI', {}, { 'digest-uri': undefined }],
        ['the URI of another service', { uri: 'zookeeper/other' }, {}],
        ['a longer URI', { uri: 'zookeeper/zk-sasl-md5/other' }, {}],
        ['no response', {}, { response: undefined }],
        ['no user', {}, { username: undefined }],
        ['a wish to act as another user that is not hashed', {}, { authzid: '"other"' }],
        ['the same directive twice', {}, { USERNAME: '"worker"' }],
        ['text behind a quotation mark', {}, { unknown: '"a"b' }],
        ['a quotation mark that is not closed', {}, { unknown: '"a' }],
      ])('refuses %s', async (_, claim, directives) => {
        const client = await server.connect();
        const edit = (right: Directives) => ({ ...right, ...directives });
        await expectRefusal(client, authenticate(client, { ...WORKER, ...claim }, edit), ERROR.authFailed);
      });

      it('refuses a response in capitals', async () => {
        const client = await server.connect();
        const edit = (right: Directives) => ({ ...right, response: right.response?.toUpperCase() });
        await expectRefusal(client, authenticate(client, WORKER, edit), ERROR.authFailed);
      });

      it.each<[string, Directives]>([
        ['the longest buffer', { maxbuf: 'x' }],
        ['the longest buffer, which is too large', { maxbuf: '2147483648' }],
        ['the nonce-count', { 'nonce-count': 'x' }],
      ])('ends the connection without a reply if it cannot read %s', async (_, directives) => {
        const client = await server.connect();
        await expectEnd(
          client,
          authenticate(client, WORKER, (right) => ({ ...right, ...directives })),
        );
      });

      it('ends the connection without a reply to a user without a name', async () => {
        const client = await server.connect();
        await expectEnd(client, authenticate(client, { ...WORKER, username: '' }));
      });

      it.each([
        ['', ',', ',,,', 'x', 'x=', 'x=y', 'x="', '=', '\0', 'x y', 'x = y', 'username', '\u00ff\u00fe'],
        ['a'.repeat(4096), 'a'.repeat(4097), `${','.repeat(4097)}`],
      ])('refuses responses that say nothing: %j, …', async (...tokens) => {
        for (const token of tokens) {
          const client = await server.connect();
          await client.do(sasl(''));
          await expectRefusal(client, client.ask(sasl(token)), ERROR.authFailed);
        }
      });
    });

    describe('access lists of the scheme sasl', () => {
      const entry = (id: string) => ({ permissions: PERMISSION.all, scheme: 'sasl', id });

      it.each([
        [['user', '', 'user@', '@REALM', 'user@REALM', 'user/host', 'user/host@REALM', 'a/b/c'], ERROR.none],
        [['/', '@', 'a b', 'ä', 'a\nb', 'user/host@', '/@'], ERROR.none],
        [['a@b@c', 'a/b/c@d', 'a@b/c'], ERROR.invalidAcl],
      ])('name users as Kerberos does: %j', async (ids, error) => {
        const client = await server.connect();
        for (const id of ids)
          expect(await client.errorOf(create(freshPath(), { acl: [entry(id)] })), id).toBe(error);
      });

      it('name the creator for the scheme auth', async () => {
        const client = await connectAs(server, WORKER);
        await client.do(auth('digest', 'alice:pw'));
        const path = freshPath();
        await client.do(create(path, { acl: CREATOR_ALL }));
        const { acl } = await client.do(getAcl(path));
        expect(acl).toHaveLength(2);
        expect(acl).toContainEqual(entry('worker'));
      });

      it('give the user rights, also over another session, and no one else', async () => {
        const client = await server.connect();
        const path = freshPath();
        await client.do(create(path, { acl: [entry('worker')] }));
        expect(await client.errorOf(setData(path, 'x'))).toBe(ERROR.noAuth);
        const other = await connectAs(server, OTHER);
        expect(await other.errorOf(setData(path, 'x'))).toBe(ERROR.noAuth);
        const worker = await connectAs(server, WORKER);
        expect(await worker.errorOf(setData(path, 'x'))).toBe(ERROR.none);
      });

      it('give the user super all rights of any user, and none of other schemes', async () => {
        const client = await server.connectAs('alice:pw');
        const [ofWorker, ofAlice] = [freshPath(), freshPath()];
        await client.do(create(ofWorker, { acl: [{ ...entry('worker'), permissions: PERMISSION.write }] }));
        await client.do(create(ofAlice, { acl: CREATOR_ALL }));
        const admin = await connectAs(server, SUPER);
        expect(await admin.errorOf(setData(ofWorker, 'x'))).toBe(ERROR.none);
        expect(await admin.errorOf(getData(ofWorker))).toBe(ERROR.noAuth);
        expect(await admin.errorOf(getData(ofAlice))).toBe(ERROR.noAuth);
      });

      it('show their users to clients that may only read', async () => {
        const client = await server.connect();
        const path = freshPath();
        const acl = [entry('worker'), { ...OPEN[0], permissions: PERMISSION.read }] as const;
        await client.do(create(path, { acl: acl as never }));
        expect((await client.do(getAcl(path))).acl).toEqual(acl);
      });
    });

    describe('a session whose user authenticates by SASL', () => {
      it('may not touch its own nodes over a connection that has not authenticated', async () => {
        const client = await connectAs(server, WORKER);
        const path = await createEphemeral(client);
        const again = await server.connect(client.credentials);
        expect(again.id).toBe(client.id);
        expect(await again.errorOf(getData(path))).toBe(ERROR.noAuth);
        await expectAcceptance(again, WORKER);
        expect((await again.do(getData(path))).stat.ephemeralOwner).toBe(client.id);
      });

      it('goes on as another user, without the right to its nodes', async () => {
        const client = await connectAs(server, WORKER);
        const path = await createEphemeral(client);
        const again = await connectAs(server, OTHER, client);
        expect(again.id).toBe(client.id);
        expect(await again.errorOf(getData(path))).toBe(ERROR.noAuth);
        expect(await again.errorOf(exists(path))).toBe(
          server.isSince('3.8.4', '3.9.2') ? ERROR.noAuth : ERROR.none,
        );
      });
    });
  },
  { saslUsers },
);

/** Requests of all kinds, also those that can't be read or don't exist. */
const REQUESTS: readonly [string, Operation<unknown>][] = [
  ['ping', ping()],
  ['closeSession', closeSession()],
  ['setWatches', setWatches({ seenZxid: 0n, data: [], exist: [], child: [] })],
  ['sync', sync('/')],
  ['exists', exists('/')],
  ['create', create('/never')],
  ['whoAmI', whoAmI()],
  ['unknown', raw(77)],
  ['unreadable', raw(OPERATION.getData)],
];

async function expectDemand(client: RawClient, operation: Operation<unknown>): Promise<void> {
  const { error, zxid, xid, body } = await client.ask(operation);
  expect({ error, zxid, body }).toEqual({
    error: ERROR.authenticationRequired,
    zxid: 0n,
    body: Buffer.alloc(0),
  });
  expect(xid).toBe(operation.xid ?? xid);
  await client.closed;
}

const schemes = ['sasl', 'digest'] as const;
describe.each([[['sasl']], [['digest']], [['sasl', 'digest']]] as const)('requiring %j', (requireAuth) => {
  const required = schemes.filter((scheme) => (requireAuth as readonly string[]).includes(scheme));
  const refusal = required.includes('sasl') ? ERROR.authenticationRequired : ERROR.authFailed;
  const prove = (client: RawClient, scheme: (typeof schemes)[number]) =>
    scheme === 'sasl' ? expectAcceptance(client, WORKER) : client.do(auth('digest', 'alice:pw'));

  forEachServer(
    (server) => {
      it.each(REQUESTS)(
        'refuses %s of a client without identity, and ends the connection',
        async (_, operation) => {
          await expectDemand(await server.connect(), operation);
        },
      );

      it('does not count an address as an identity', async () => {
        const client = await server.connect();
        expect(await client.errorOf(auth('ip', ''))).toBe(ERROR.none);
        await expectDemand(client, ping());
      });

      it.each(schemes)(
        'takes requests of a client that proved itself by %s only if that is one of them',
        async (scheme) => {
          const client = await server.connect();
          await prove(client, scheme);
          if (!required.includes(scheme)) return expectDemand(client, ping());
          expect(await client.errorOf(ping())).toBe(ERROR.none);
          await createEphemeral(client);
        },
      );

      it('refuses a request within a SASL exchange', async () => {
        const client = await server.connect();
        await client.do(sasl(''));
        await expectDemand(client, exists('/'));
      });

      it('keeps the session of a client that it refused, which may try again', async () => {
        const client = await server.connect();
        await expectDemand(client, closeSession());
        const again = await server.connect(client.credentials);
        expect(again.id).toBe(client.id);
        await prove(again, required[0] as (typeof schemes)[number]);
        expect(await again.errorOf(closeSession())).toBe(ERROR.none);
      });

      it('demands an identity on each connection of a session', async () => {
        const client = await server.connect();
        await prove(client, required[0] as (typeof schemes)[number]);
        const path = await createEphemeral(client);
        await expectDemand(await server.connect(client.credentials), getData(path));
        const again = await server.connect(client.credentials);
        await prove(again, required[0] as (typeof schemes)[number]);
        expect((await again.do(getData(path))).stat.ephemeralOwner).toBe(client.id);
      });

      it(`refuses a wrong password, an unknown user and a second exchange with ${refusal}`, async () => {
        for (const claim of [WRONG, UNKNOWN]) {
          const client = await server.connect();
          await expectRefusal(client, authenticate(client, claim), refusal);
        }
        const client = await connectAs(server, WORKER);
        await expectRefusal(client, client.ask(sasl('')), refusal);
      });

      it('refuses a scheme that is not there with AUTH_FAILED', async () => {
        const client = await server.connect();
        expect(await client.errorOf(auth('nosuch', ''))).toBe(ERROR.authFailed);
        await client.closed;
      });
    },
    { saslUsers, requireAuth: required },
  );
});

describe('without SASL', () => {
  forEachServer((server) => {
    it('a token is answered with none, and the connection stays', async () => {
      const client = await server.connect();
      for (const token of ['', 'anything'])
        expect(await client.ask(sasl(token))).toMatchObject({ error: ERROR.none, zxid: 0n, value: null });
      expect(await client.errorOf(ping())).toBe(ERROR.none);
    });

    it('a token of length -1 ends the connection without a reply', async () => {
      const client = await server.connect();
      await expectEnd(client, client.ask(sasl(null)));
    });
  });
});

describe('with sessionRequireClientSASLAuth', () => {
  forARealServer(
    { security: { saslUsers }, settings: { sessionRequireClientSASLAuth: 'true' } },
    (server) => {
      it('SASL is required as with enforce.auth.schemes', async () => {
        await expectDemand(await server.connect(), ping());
        const client = await server.connect();
        await expectRefusal(client, authenticate(client, WRONG), ERROR.authenticationRequired);
        const again = await connectAs(server, WORKER, client);
        expect(await again.errorOf(ping())).toBe(ERROR.none);
      });
    },
  );
});

describe('with allowSaslFailedClients', () => {
  forARealServer({ security: { saslUsers }, settings: { allowSaslFailedClients: 'true' } }, (server) => {
    it('a refused client is answered as if all were well, but without rspauth and without an identity', async () => {
      const client = await server.connect();
      expect(await authenticate(client, WRONG)).toMatchObject({ error: ERROR.none, value: null });
      expect(await client.do(whoAmI())).toEqual([{ scheme: 'ip', id: '127.0.0.1' }]);
      expect(await client.ask(sasl(''))).toMatchObject({ error: ERROR.none, value: null });
    });
  });
});

describe('with a JAAS configuration, but without authProvider.sasl', () => {
  forARealServer({ security: { saslUsers }, settings: { 'authProvider.sasl': '' } }, (server) => {
    it('a client authenticates, but can create no node for itself', async () => {
      const client = await connectAs(server, WORKER);
      expect(await client.errorOf(create(freshPath(), { acl: CREATOR_ALL }))).toBe(ERROR.invalidAcl);
    });
  });
});

describe('with authProvider.sasl, but without a JAAS configuration', () => {
  const settings = { 'authProvider.sasl': 'org.apache.zookeeper.server.auth.SASLAuthenticationProvider' };
  forARealServer({ settings }, (server) => {
    it('access lists may name SASL users, and no client can be one', async () => {
      const client = await server.connect();
      expect(await client.ask(sasl(''))).toMatchObject({ error: ERROR.none, value: null });
      const acl = [{ permissions: PERMISSION.all, scheme: 'sasl', id: quoted('x') }];
      expect(await client.errorOf(create(freshPath(), { acl }))).toBe(ERROR.none);
    });
  });
});
