import { beforeAll, describe, expect, it } from 'vitest';
import { create, exists, MODE } from '../support/wire/operations.js';
import { ERROR } from '../support/wire/protocol.mjs';
import { ConnectionEndedError, RawClient } from '../support/wire/raw-client.js';
import { forEachServer, freshPath } from './support/servers.js';

const LONGEST_MS = 20_000;

forEachServer(
  (server) => {
    describe('a server that was restarted without its data', () => {
      const path = freshPath();
      let before: { readonly id: bigint; readonly password: Uint8Array };
      let lastZxid = 0n;

      beforeAll(async () => {
        const client = await server.open({ timeoutMs: LONGEST_MS });
        await client.do(create(path, { mode: MODE.ephemeral }));
        // More transactions than in the tests below, whose answers have zxids that begin again at 1.
        for (let count = 0; count < 100; count++) lastZxid = (await client.ask(create(freshPath()))).zxid;
        before = client.credentials;
        client.vanish();
        await server.restartEmpty();
      });

      it('ends the connection of a session that has seen more, without an answer, however often it is asked', async () => {
        for (let round = 0; round < 3; round++) {
          const asking = RawClient.connect(server.port, { ...before, lastZxid });
          await expect(asking).rejects.toBeInstanceOf(ConnectionEndedError);
        }
      });

      it('does so to any client that has seen more, also when a new session is asked for', async () => {
        const asking = RawClient.connect(server.port, { lastZxid });
        await expect(asking).rejects.toBeInstanceOf(ConnectionEndedError);
      });

      it('says of a former session that it is over when that shows no zxid: no id, no timeout, and the connection ends', async () => {
        const client = await server.connect({ ...before, timeoutMs: LONGEST_MS, lastZxid: 0n });
        expect(client.greeting).toMatchObject({ timeoutMs: 0, id: 0n, password: Buffer.alloc(16) });
        await client.closed;
      });

      it('begins again: with zxids, with no node, and with session ids that were not used before', async () => {
        const client = await server.connect({ timeoutMs: LONGEST_MS });
        expect(client.id).not.toBe(before.id);
        expect(await client.errorOf(exists(path))).toBe(ERROR.noNode);
        const { zxid } = await client.ask(create(path));
        expect(zxid).toBeLessThan(lastZxid);
      });
    });
  },
  { tickMs: 1000 },
);
