import { describe, expect, it } from 'vitest';
import {
  auth,
  CREATOR_ALL,
  closeSession,
  create,
  exists,
  getChildren,
  getData,
  MODE,
  ping,
  remove,
  setData,
} from '../support/wire/operations.js';
import { ERROR } from '../support/wire/protocol.mjs';
import { ConnectionEndedError, RawClient } from '../support/wire/raw-client.js';
import { forEachServer, freshPath } from './support/servers.js';

const TICK_MS = 200;
const SHORTEST_MS = 2 * TICK_MS;
const LONGEST_MS = 20 * TICK_MS;

/** So long that even on a busy machine a client sends two requests within this time. */
const KEPT_MS = 5 * TICK_MS;

/** Repeats an action, often enough to keep its session alive, until another session has expired. */
async function repeatUntilExpiryOf(quiet: RawClient, action: () => Promise<unknown>): Promise<void> {
  while (!quiet.isClosed) {
    await action();
    await Promise.race([quiet.closed, new Promise((resolve) => setTimeout(resolve, TICK_MS / 4))]);
  }
}

/** Creates an ephemeral node at a path that no other test uses. */
async function createEphemeral(client: RawClient): Promise<string> {
  const path = freshPath();
  await client.do(create(path, { mode: MODE.ephemeral }));
  return path;
}

forEachServer(
  (server) => {
    describe('sessions', () => {
      it('begin with an id, a password of 16 bytes, and what was asked for as timeout', async () => {
        const { greeting } = await server.connect({ timeoutMs: 1234 });
        expect(greeting).toMatchObject({ protocolVersion: 0, timeoutMs: 1234, readOnly: false });
        expect(greeting.id).not.toBe(0n);
        expect(greeting.password).toHaveLength(16);
        expect(greeting.password.equals(Buffer.alloc(16))).toBe(false);
      });

      it('have ids and passwords of their own', async () => {
        const clients = [await server.connect(), await server.connect(), await server.connect()];
        expect(new Set(clients.map(({ id }) => id)).size).toBe(3);
        expect(new Set(clients.map(({ greeting }) => greeting.password.toString('hex'))).size).toBe(3);
      });

      it.each([
        [0, SHORTEST_MS],
        [1, SHORTEST_MS],
        [-5, SHORTEST_MS],
        [SHORTEST_MS - 1, SHORTEST_MS],
        [SHORTEST_MS + 1, SHORTEST_MS + 1],
        [LONGEST_MS, LONGEST_MS],
        [LONGEST_MS + 1, LONGEST_MS],
        [2 ** 31 - 1, LONGEST_MS],
      ])('with a timeout of %i ms asked for are given one of %i ms', async (asked, given) => {
        const { greeting } = await server.connect({ timeoutMs: asked });
        expect(greeting.timeoutMs).toBe(given);
      });

      it('of old clients, which say nothing of reading only, are sent nothing of it', async () => {
        const client = await server.connect({ readOnly: 'absent' });
        expect(client.greeting.readOnly).toBeUndefined();
        expect(await client.errorOf(exists('/'))).toBe(ERROR.none);
      });

      it('of clients that would do with reading are answered that they may write', async () => {
        const client = await server.connect({ readOnly: true });
        expect(client.greeting.readOnly).toBe(false);
        expect(await client.errorOf(create(freshPath()))).toBe(ERROR.none);
      });

      it.each([
        ['without a password', { password: null }],
        ['with a password that is no password', { password: Buffer.alloc(100, 3) }],
        ['with a zxid below 0', { lastZxid: -5n }],
        ['with another version of the protocol', { protocolVersion: 7 }],
      ])('are opened %s', async (_name, options) => {
        const { greeting } = await server.connect(options);
        expect(greeting).toMatchObject({ protocolVersion: 0, timeoutMs: LONGEST_MS });
        expect(greeting.password).toHaveLength(16);
      });

      it('answer a ping with xid -2, the last zxid and nothing else', async () => {
        const client = await server.connect();
        const { zxid } = await client.ask(create(freshPath()));
        expect(await client.ask(ping())).toMatchObject({ xid: -2, zxid, error: 0, body: Buffer.alloc(0) });
      });

      it('close with an answer, and then the connection ends', async () => {
        const client = await server.connect();
        const { zxid: before } = await client.ask(exists('/'));
        const { zxid, error, body } = await client.ask(closeSession());
        expect({ error, body }).toEqual({ error: ERROR.none, body: Buffer.alloc(0) });
        expect(zxid).toBe(before + 1n);
        await client.closed;
      });

      it('carry out what was asked before their close, and nothing after it', async () => {
        const { client, path } = await server.withPath();
        const [created, closed, after] = await Promise.all([
          client.errorOf(create(path)),
          client.errorOf(closeSession()),
          // The server either refuses the create or ends the connection first: that is chance.
          client.errorOf(create(`${path}/child`)).catch(() => ERROR.sessionExpired),
        ]);
        expect([created, closed, after]).toEqual([ERROR.none, ERROR.none, ERROR.sessionExpired]);
        const other = await server.connect();
        expect(await other.do(getChildren(path))).toEqual([]);
      });
    });

    describe('ephemeral nodes', () => {
      it('are gone when the close of their session is answered, by its transaction', async () => {
        const client = await server.connect();
        const other = await server.connect();
        const path = freshPath();
        await other.do(create(path));
        for (const name of ['a', 'b']) await client.do(create(`${path}/${name}`, { mode: MODE.ephemeral }));
        const { zxid } = await client.ask(closeSession());
        expect(await other.do(getChildren(path))).toEqual([]);
        expect(await other.do(exists(path))).toMatchObject({ cversion: 4, pzxid: zxid });
      });

      it('outlive their connection', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        const other = await server.connect();
        const path = await createEphemeral(client);
        client.vanish();
        await client.closed;
        expect((await other.do(exists(path))).ephemeralOwner).toBe(client.id);
        await (await server.connect(client.credentials)).close();
        expect(await other.errorOf(exists(path))).toBe(ERROR.noNode);
      });

      it('may be written and deleted by others', async () => {
        const client = await server.connect();
        const other = await server.connect();
        const path = await createEphemeral(client);
        expect((await other.do(setData(path, 'x'))).ephemeralOwner).toBe(client.id);
        expect(await other.errorOf(remove(path))).toBe(ERROR.none);
      });

      it('that were deleted and made again by another session stay with that one', async () => {
        const client = await server.connect();
        const other = await server.connect();
        const path = await createEphemeral(client);
        await other.do(remove(path));
        await other.do(create(path, { mode: MODE.ephemeral }));
        await client.close();
        expect((await other.do(exists(path))).ephemeralOwner).toBe(other.id);
      });

      it('leave nodes that are not ephemeral when their session closes', async () => {
        const { client, path } = await server.withNode();
        await client.close();
        expect(await (await server.connect()).errorOf(exists(path))).toBe(ERROR.none);
      });
    });

    describe('expiry', () => {
      it('comes when nothing was heard for the timeout, and not before', async () => {
        const client = await server.connect({ timeoutMs: SHORTEST_MS });
        const other = await server.connect({ timeoutMs: LONGEST_MS });
        const path = await createEphemeral(client);
        await other.do(exists(path, true));
        const since = performance.now();
        await client.do(ping());
        expect(await other.eventsUpTo(1)).toEqual([`deleted ${path}`]);
        // Both the server and this process round timers and clocks.
        expect(performance.now() - since).toBeGreaterThanOrEqual(SHORTEST_MS - 2);
      });

      it('ends the connection of the session', async () => {
        const client = await server.connect({ timeoutMs: SHORTEST_MS });
        await client.closed;
        await expect(client.ask(ping())).rejects.toBeInstanceOf(ConnectionEndedError);
      });

      it('does not come to a session that pings', async () => {
        const pinging = await server.connect({ timeoutMs: KEPT_MS });
        const quiet = await server.connect({ timeoutMs: KEPT_MS });
        const path = await createEphemeral(pinging);
        await repeatUntilExpiryOf(quiet, () => pinging.do(ping()));
        expect((await pinging.do(exists(path))).ephemeralOwner).toBe(pinging.id);
      });

      it('does not come to a session that asks for something else than a ping', async () => {
        const asking = await server.connect({ timeoutMs: KEPT_MS });
        const quiet = await server.connect({ timeoutMs: KEPT_MS });
        const path = await createEphemeral(asking);
        await repeatUntilExpiryOf(quiet, () => asking.do(exists('/')));
        expect((await asking.do(exists(path))).ephemeralOwner).toBe(asking.id);
      });

      it('comes to a session without a connection too, and deletes all its ephemeral nodes at once', async () => {
        const client = await server.connect({ timeoutMs: SHORTEST_MS });
        const other = await server.connect({ timeoutMs: LONGEST_MS });
        const path = freshPath();
        await other.do(create(path));
        for (const name of ['a', 'b', 'c'])
          await client.do(create(`${path}/${name}`, { mode: MODE.ephemeral }));
        await other.do(getChildren(path, true));
        await other.do(exists(`${path}/a`, true));
        client.vanish();
        await other.eventsUpTo(2);
        const stat = await other.do(exists(path));
        expect(stat).toMatchObject({ numChildren: 0, cversion: 6 });
        expect([...other.events].sort()).toEqual([`children ${path}`, `deleted ${path}/a`]);
      });

      it('is a transaction', async () => {
        const other = await server.connect({ timeoutMs: LONGEST_MS });
        const client = await server.connect({ timeoutMs: SHORTEST_MS });
        const { zxid } = await client.ask(ping());
        await client.closed;
        expect((await other.ask(ping())).zxid).toBe(zxid + 1n);
      });

      it('cannot be undone: the session is not given back', async () => {
        const client = await server.connect({ timeoutMs: SHORTEST_MS });
        await client.closed;
        const again = await server.connect(client.credentials);
        expect(again.greeting).toMatchObject({ timeoutMs: 0, id: 0n, password: Buffer.alloc(16) });
        await again.closed;
      });
    });

    describe('a session that comes back', () => {
      it('keeps its id, its password and its ephemeral nodes', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        const path = await createEphemeral(client);
        client.vanish();
        const again = await server.connect({ ...client.credentials, timeoutMs: LONGEST_MS });
        expect(again.greeting).toEqual(client.greeting);
        expect((await again.do(exists(path))).ephemeralOwner).toBe(again.id);
        await again.close();
        expect(await (await server.connect()).errorOf(exists(path))).toBe(ERROR.noNode);
      });

      it('takes no zxid', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        const { zxid } = await client.ask(exists('/'));
        client.vanish();
        const again = await server.connect({ ...client.credentials, timeoutMs: LONGEST_MS });
        expect((await again.ask(exists('/'))).zxid).toBe(zxid);
      });

      it('takes the session from a connection that is there still, which ends', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        const again = await server.connect({ ...client.credentials, timeoutMs: LONGEST_MS });
        await client.closed;
        expect(again.id).toBe(client.id);
        expect(await again.errorOf(create(freshPath(), { mode: MODE.ephemeral }))).toBe(ERROR.none);
      });

      it('may ask for another timeout', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        client.vanish();
        const again = await server.connect({ ...client.credentials, timeoutMs: 1000 });
        expect(again.greeting).toMatchObject({ id: client.id, timeoutMs: 1000 });
      });

      it('lives on for its timeout from then', async () => {
        let client = await server.connect({ timeoutMs: KEPT_MS });
        const quiet = await server.connect({ timeoutMs: KEPT_MS });
        const path = await createEphemeral(client);
        await repeatUntilExpiryOf(quiet, async () => {
          client.vanish();
          client = await server.connect({ ...client.credentials, timeoutMs: KEPT_MS });
        });
        expect((await client.do(exists(path))).ephemeralOwner).toBe(client.id);
      });

      it('with a wrong password is not taken: no id, no timeout, and the connection ends', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        client.vanish();
        const thief = await server.connect({ id: client.id, password: Buffer.alloc(16, 7) });
        expect(thief.greeting).toMatchObject({ timeoutMs: 0, id: 0n, password: Buffer.alloc(16) });
        await thief.closed;
      });

      it('can still be had with the right password after a wrong one', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        const path = await createEphemeral(client);
        const thief = await server.connect({ id: client.id, password: Buffer.alloc(16, 7) });
        await thief.closed;
        client.vanish();
        const again = await server.connect({ ...client.credentials, timeoutMs: LONGEST_MS });
        expect(again.id).toBe(client.id);
        expect((await again.do(exists(path))).ephemeralOwner).toBe(client.id);
      });

      it('loses its connection to a wrong password too', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        const thief = await server.connect({ id: client.id, password: Buffer.alloc(16, 7) });
        await thief.closed;
        await client.closed;
      });

      it('with an unknown id is not taken', async () => {
        const client = await server.connect({ id: 0x1234_5678n, password: Buffer.alloc(16, 7) });
        expect(client.greeting).toMatchObject({ timeoutMs: 0, id: 0n, password: Buffer.alloc(16) });
        await client.closed;
      });

      it('with a password of another length is not taken', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        const thief = await server.connect({ id: client.id, password: Buffer.alloc(4) });
        expect(thief.greeting).toMatchObject({ timeoutMs: 0, id: 0n });
      });

      it('after its close is not taken', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        await client.close();
        const again = await server.connect(client.credentials);
        expect(again.greeting).toMatchObject({ timeoutMs: 0, id: 0n });
        await again.closed;
      });

      it('has to authenticate again', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        await client.do(auth('digest', 'me:secret'));
        const path = freshPath();
        await client.do(create(path, { acl: CREATOR_ALL }));
        expect(await client.errorOf(getData(path))).toBe(ERROR.none);
        client.vanish();
        const again = await server.connect({ ...client.credentials, timeoutMs: LONGEST_MS });
        expect(await again.errorOf(getData(path))).toBe(ERROR.noAuth);
        await again.do(auth('digest', 'me:secret'));
        expect(await again.errorOf(getData(path))).toBe(ERROR.none);
      });

      it('that has seen more than the server is refused: the connection ends without an answer', async () => {
        const connecting = RawClient.connect(server.port, { lastZxid: 2n ** 62n });
        await expect(connecting).rejects.toBeInstanceOf(ConnectionEndedError);
      });

      it('that has seen more than the server does not lose the connection that it has', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        const ahead = RawClient.connect(server.port, { ...client.credentials, lastZxid: 2n ** 62n });
        await expect(ahead).rejects.toBeInstanceOf(ConnectionEndedError);
        expect(await client.errorOf(exists('/'))).toBe(ERROR.none);
      });

      it('that has seen all that the server has is taken', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        const { zxid } = await client.ask(create(freshPath()));
        client.vanish();
        const again = await server.connect({ ...client.credentials, lastZxid: zxid });
        expect(again.id).toBe(client.id);
      });
    });
  },
  { tickMs: TICK_MS },
);
