import { describe, expect, it } from 'vitest';
import { Writer } from '../support/wire/jute.mjs';
import { create, exists, getData, ping, raw, setData } from '../support/wire/operations.js';
import { ERROR, OPERATION } from '../support/wire/protocol.mjs';
import { handshake, RawClient } from '../support/wire/raw-client.js';
import { forEachServer, freshPath } from './support/servers.js';

/** jute.maxbuffer: the longest frame that a server accepts. */
const LONGEST_FRAME = 0xf_ffff;

const int = (value: number) => new Writer().int(value).done();

/** A write whose frame has this many bytes. */
function writeOfFrame(path: string, frameLength: number) {
  const header = 8;
  const rest = setData(path, '').body.length;
  return setData(path, Buffer.alloc(frameLength - header - rest, 'x'));
}

forEachServer((server) => {
  describe('frames', () => {
    it('of 1,048,575 bytes are taken', async () => {
      const { client, path } = await server.withNode();
      const { dataLength } = await client.do(writeOfFrame(path, LONGEST_FRAME));
      expect(dataLength).toBeGreaterThan(1_048_500);
      expect((await client.do(getData(path))).data).toHaveLength(dataLength);
    });

    it('of one byte more end the connection, and write nothing', async () => {
      const { client, path } = await server.withNode();
      await expect(client.ask(writeOfFrame(path, LONGEST_FRAME + 1))).rejects.toThrow();
      await client.closed;
      expect((await (await server.connect()).do(exists(path))).version).toBe(0);
    });

    it.each([
      ['longer than allowed', int(LONGEST_FRAME + 1)],
      ['longer than there is memory', int(2 ** 31 - 1)],
      ['negative', int(-1)],
      ['very negative', int(-(2 ** 31))],
    ])('with a length that is %s end the connection at once', async (_name, length) => {
      const client = await server.connect();
      client.write(length);
      await client.closed;
    });

    it.each([
      ['empty', int(0)],
      ['too short for a header', Buffer.concat([int(4), int(1)])],
    ])('that are %s end the connection', async (_name, bytes) => {
      const client = await server.connect();
      client.write(bytes);
      await client.closed;
    });

    it('that end a connection leave its session', async () => {
      const client = await server.connect();
      client.write(int(-1));
      await client.closed;
      const again = await server.connect(client.credentials);
      expect(again.id).toBe(client.id);
    });

    it('are taken in pieces, byte by byte', async () => {
      const { client, path } = await server.withPath();
      const { body } = create(path);
      const frame = new Writer().buffer(new Writer().int(77).int(OPERATION.create).raw(body).done()).done();
      for (const byte of frame) client.write(Buffer.from([byte]));
      expect(await client.errorOf(exists(path))).toBe(ERROR.none);
      expect(client.order).toEqual([77, 1]);
    });

    it('are taken together, many at once', async () => {
      const client = await server.connect();
      const one = (xid: number) =>
        new Writer().buffer(new Writer().int(xid).int(OPERATION.exists).raw(exists('/').body).done()).done();
      client.write(Buffer.concat([101, 102, 103].map(one)));
      await client.do(ping());
      expect(client.order).toEqual([101, 102, 103, -2]);
    });
  });

  describe('handshakes', () => {
    it.each([
      ['with a negative length', int(-1)],
      ['longer than allowed', int(LONGEST_FRAME + 1)],
      ['that are empty', int(0)],
      ['that end too early', Buffer.concat([int(12), Buffer.alloc(12)])],
      ['of another protocol', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ])('%s end the connection without an answer', async (_name, bytes) => {
      const connection = await server.rawConnection();
      let frames = 0;
      connection.onFrame = () => {
        frames++;
      };
      connection.write(bytes);
      expect(await connection.closed).toHaveLength(0);
      expect(frames).toBe(0);
    });

    it('are answered before what was sent right behind them', async () => {
      const connection = await server.rawConnection();
      const frames: Buffer[] = [];
      const both = new Promise<void>((resolve) => {
        connection.onFrame = (frame) => {
          frames.push(frame);
          if (frames.length === 2) resolve();
        };
      });
      const request = new Writer().int(9).int(OPERATION.exists).raw(exists('/').body).done();
      connection.write(new Writer().buffer(handshake({})).buffer(request).done());
      await both;
      expect(frames[0]?.readInt32BE(4)).toBe(30_000);
      expect(frames[1]?.readInt32BE(0)).toBe(9);
    });

    it('are taken in pieces', async () => {
      const connection = await server.rawConnection();
      const greeted = new Promise<Buffer>((resolve) => {
        connection.onFrame = resolve;
      });
      for (const byte of new Writer().buffer(handshake({})).done()) connection.write(Buffer.from([byte]));
      expect((await greeted).readInt32BE(4)).toBe(30_000);
    });

    it('take no session if the client goes away before it sends one', async () => {
      const { zxid: before } = await (await server.connect()).ask(exists('/'));
      const connection = await server.rawConnection();
      connection.destroy();
      await connection.closed;
      const next = await RawClient.connect(server.port);
      expect((await next.ask(exists('/'))).zxid).toBe(before + 1n);
      await next.close();
    });
  });

  describe('bodies', () => {
    const path = new Writer().string('/limits').done();

    it.each<[string, Buffer]>([
      ['a string longer than the frame', int(1000)],
      ['a string of negative length', int(-2)],
      ['a string longer than any frame', int(2 ** 31 - 1)],
      ['data longer than the frame', Buffer.concat([path, int(1000)])],
      ['data of negative length', Buffer.concat([path, int(-2)])],
      ['data longer than any frame', Buffer.concat([path, int(2 ** 31 - 1)])],
      ['a list longer than the frame', Buffer.concat([path, int(0), int(1000)])],
    ])('of a create with %s are MARSHALLING_ERROR', async (_name, body) => {
      const client = await server.connect();
      expect(await client.errorOf(raw(OPERATION.create, body))).toBe(ERROR.marshalling);
      expect(await client.errorOf(ping())).toBe(ERROR.none);
    });

    it('with more than is asked for are taken as if it was not there', async () => {
      const client = await server.connect();
      const { body } = exists('/');
      const { error } = await client.ask(raw(OPERATION.exists, Buffer.concat([body, Buffer.from('more')])));
      expect(error).toBe(ERROR.none);
    });

    it('of a transaction that is cut do nothing', async () => {
      const client = await server.connect();
      const made = freshPath();
      const part = create(made);
      const body = new Writer().int(part.type).bool(false).int(-1).raw(part.body).done();
      expect(await client.errorOf(raw(OPERATION.multi, body))).toBe(ERROR.marshalling);
      expect(await client.errorOf(exists(made))).toBe(ERROR.noNode);
    });
  });
});
