import { describe, expect, it } from 'vitest';
import {
  create,
  create2,
  exists,
  getChildren,
  MODE,
  multi,
  remove,
  setData,
} from '../support/wire/operations.js';
import { ERROR } from '../support/wire/protocol.mjs';
import type { RawClient } from '../support/wire/raw-client.js';
import { forEachServer, freshPath } from './support/servers.js';

/** The number that the next sequential child gets. */
async function nextNumber(client: RawClient, parent: string, mode: number = MODE.sequential) {
  const path = await client.do(create(`${parent}/n-`, { mode }));
  return Number(path?.slice(`${parent}/n-`.length));
}

forEachServer((server) => {
  describe('sequential nodes', () => {
    it('have a number of ten digits behind their name, from 0', async () => {
      const { client, path: parent } = await server.withNode();
      const names = [];
      for (let round = 0; round < 3; round++)
        names.push(await client.do(create(`${parent}/n-`, { mode: MODE.sequential })));
      expect(names).toEqual([`${parent}/n-0000000000`, `${parent}/n-0000000001`, `${parent}/n-0000000002`]);
    });

    it('of all names below one parent share its numbers', async () => {
      const { client, path: parent } = await server.withNode();
      expect(await client.do(create(`${parent}/a-`, { mode: MODE.sequential }))).toBe(
        `${parent}/a-0000000000`,
      );
      expect(await client.do(create(`${parent}/b-`, { mode: MODE.sequential }))).toBe(
        `${parent}/b-0000000001`,
      );
      expect(await client.do(create(`${parent}/a-`, { mode: MODE.ephemeralSequential }))).toBe(
        `${parent}/a-0000000002`,
      );
    });

    it('never get the number of one that was deleted', async () => {
      const { client, path: parent } = await server.withNode();
      expect(await nextNumber(client, parent)).toBe(0);
      await client.do(remove(`${parent}/n-0000000000`));
      expect(await nextNumber(client, parent)).toBe(1);
      await client.do(remove(`${parent}/n-0000000001`));
      expect(await nextNumber(client, parent)).toBe(2);
    });

    it('take the number of creates, those of other nodes included, and not of deletes', async () => {
      const { client, path: parent } = await server.withNode();
      await client.do(create(`${parent}/x`));
      await client.do(create(`${parent}/y`, { mode: MODE.ephemeral }));
      expect(await nextNumber(client, parent)).toBe(2);
      await client.do(remove(`${parent}/x`));
      await client.do(remove(`${parent}/y`));
      expect(await nextNumber(client, parent)).toBe(3);
      expect((await client.do(exists(parent))).cversion).toBe(6);
    });

    it('start at 0 again when their parent was deleted and made again', async () => {
      const { client, path: parent } = await server.withNode();
      expect(await nextNumber(client, parent)).toBe(0);
      await client.do(remove(`${parent}/n-0000000000`));
      await client.do(remove(parent));
      await client.do(create(parent));
      expect(await nextNumber(client, parent)).toBe(0);
    });

    it('do not mind writes to their parent', async () => {
      const { client, path: parent } = await server.withNode();
      await client.do(setData(parent, 'x'));
      await client.do(setData(parent, 'y'));
      expect(await nextNumber(client, parent)).toBe(0);
    });

    it('do not mind creates that failed', async () => {
      const { client, path: parent } = await server.withNode();
      await client.do(create(`${parent}/x`));
      expect(await client.errorOf(create(`${parent}/x`))).toBe(ERROR.nodeExists);
      expect(await nextNumber(client, parent)).toBe(1);
    });

    it('whose name is taken are NODE_EXISTS, and the number stays', async () => {
      const { client, path: parent } = await server.withNode();
      await client.do(create(`${parent}/n-0000000001`));
      expect(await client.errorOf(create(`${parent}/n-`, { mode: MODE.sequential }))).toBe(ERROR.nodeExists);
      await client.do(create(`${parent}/other`));
      expect(await nextNumber(client, parent)).toBe(2);
    });

    it('are numbered in the order of the requests, from several clients too', async () => {
      const clients = [await server.connect(), await server.connect(), await server.connect()];
      const parent = freshPath();
      await clients[0]?.do(create(parent));
      const replies = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          (clients[index % 3] as RawClient).ask(create(`${parent}/n-`, { mode: MODE.sequential })),
        ),
      );
      const byZxid = replies.sort((a, b) => Number(a.zxid - b.zxid)).map(({ value }) => value?.slice(-10));
      expect(byZxid).toEqual(Array.from({ length: 30 }, (_, index) => String(index).padStart(10, '0')));
    });

    it('that are ephemeral name their session as owner', async () => {
      const { client, path: parent } = await server.withNode();
      const { path, stat } = await client.do(create2(`${parent}/n-`, { mode: MODE.ephemeralSequential }));
      expect(path).toBe(`${parent}/n-0000000000`);
      expect(stat.ephemeralOwner).toBe(client.id);
    });

    it('below the root are numbered too', async () => {
      const client = await server.connect();
      const first = await client.do(create('/seq-', { mode: MODE.sequential }));
      const second = await client.do(create('/seq-', { mode: MODE.sequential }));
      expect(first).toMatch(/^\/seq-\d{10}$/);
      expect(Number(second?.slice(-10))).toBe(Number(first?.slice(-10)) + 1);
    });

    it('in one transaction get numbers one after the other', async () => {
      const { client, path: parent } = await server.withNode();
      const make = create(`${parent}/n-`, { mode: MODE.sequential });
      const results = await client.do(multi(make, create(`${parent}/x`), make));
      expect(results.map(({ path }) => path)).toEqual([
        `${parent}/n-0000000000`,
        `${parent}/x`,
        `${parent}/n-0000000002`,
      ]);
    });

    it('of a transaction that failed leave no gap', async () => {
      const { client, path: parent } = await server.withNode();
      await client.ask(multi(create(`${parent}/n-`, { mode: MODE.sequential }), remove(`${parent}/missing`)));
      expect(await client.do(getChildren(parent))).toEqual([]);
      expect(await nextNumber(client, parent)).toBe(0);
      expect((await client.do(exists(parent))).cversion).toBe(1);
    });
  });
});
