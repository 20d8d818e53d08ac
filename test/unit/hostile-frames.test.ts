import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import * as requests from '../../src/session/protocol/requests.js';
import { settle } from '../support/waiting.mjs';
import { reply } from '../support/wire/fake-server.mjs';
import { openConnection } from '../support/wire/fake-socket.js';
import { framed } from '../support/wire/frames.mjs';
import {
  GOOD_BODIES,
  GREETING,
  hostileChunk,
  hostileNumber,
  int,
  KNOWN_XIDS,
} from '../support/wire/hostile-frames.js';

/** Opens a connection that has sent every kind of request, and waits for the answers. */
async function waitingConnection(greeting: Buffer) {
  const { socket, connection } = await openConnection(greeting);
  const asked = [
    connection.send(requests.createRequest('/a', Buffer.alloc(1), 'persistent', 'world')),
    connection.send(requests.existsRequest('/a')),
    connection.send(requests.getDataRequest('/a', true)),
    connection.send(requests.getChildrenRequest('/a')),
    connection.send(requests.getAclRequest('/a')),
    connection.send(requests.setDataRequest('/a', Buffer.alloc(1))),
    connection.send(requests.multiRequest([{ kind: 'check', path: '/a' }], 'world')),
    connection.send(requests.closeSessionRequest()),
    connection.ping(),
    connection.authenticate({ scheme: 'digest', credentials: 'a:b' }),
  ];
  return { socket, connection, asked: Promise.allSettled(asked) };
}

/** Runs `task`, and returns the size of the largest buffer that it allocated. */
async function largestAllocation(task: () => Promise<void>): Promise<number> {
  const spies = [
    vi.spyOn(Buffer, 'alloc'),
    vi.spyOn(Buffer, 'allocUnsafe'),
    vi.spyOn(Buffer, 'allocUnsafeSlow'),
  ];
  try {
    await task();
    return Math.max(0, ...spies.flatMap(({ mock }) => mock.calls.map(([size]) => size)));
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

describe('whatever a server sends', () => {
  it('is an answer, an error or the end of the connection; everything settles, in bounded memory', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(hostileChunk, { maxLength: 12 }),
        fc.array(fc.nat(40)),
        async (chunks, cuts) => {
          const { socket, connection, asked } = await waitingConnection(GREETING);
          const stream = Buffer.concat(chunks);
          const largest = await largestAllocation(async () => {
            let offset = 0;
            for (const cut of [...cuts, stream.length]) {
              // A destroyed socket emits no more data.
              if (!socket.destroyed) socket.emit('data', stream.subarray(offset, offset + cut));
              offset = Math.min(stream.length, offset + cut);
              await settle();
            }
          });
          connection.destroy(new Error('enough'));
          const outcomes = await asked;
          expect(outcomes).toHaveLength(10);
          expect(socket.destroyed).toBe(true);
          // The requests that the connection sends need buffers as well.
          expect(largest).toBeLessThanOrEqual(stream.length + 1000);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('as an answer to the handshake: the same', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
          fc.uint8Array({ maxLength: 60 }).map(framed),
          fc.tuple(fc.nat(36), hostileNumber).map(([at, value]) => {
            const greeting = Buffer.from(GREETING);
            int(value).copy(greeting, at);
            return greeting;
          }),
        ),
        async (greeting) => {
          const largest = await largestAllocation(async () => {
            const waiting = waitingConnection(greeting).then(({ connection }) => connection);
            const opened = await Promise.race([waiting.catch(() => undefined), settle()]);
            opened?.destroy(new Error('enough'));
          });
          // The requests that the connection sends are larger than the data that came.
          expect(largest).toBeLessThan(1000);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('is not waited for when it claims to be longer than a greeting, before it has greeted', async () => {
    const claim = int(2000);
    await expect(waitingConnection(Buffer.concat([claim, Buffer.alloc(10)]))).rejects.toThrow('2000 bytes');
  });

  it.each([1, 2, 3, 4, 5, 6, 7])(
    'is not filled up with zeros when it ends too early (request %i)',
    async (xid) => {
      const { socket, asked } = await waitingConnection(GREETING);
      socket.emit('data', reply(xid, { body: (GOOD_BODIES[xid] as Buffer).subarray(0, -1) }));
      expect((await asked).map(({ status }) => status)).toEqual(Array(10).fill('rejected'));
      expect(socket.destroyed).toBe(true);
    },
  );

  it('is understood when it is good', async () => {
    const { socket, connection, asked } = await waitingConnection(GREETING);
    for (const xid of KNOWN_XIDS) socket.emit('data', reply(xid, { body: GOOD_BODIES[xid] as Buffer }));
    expect((await asked).map(({ status }) => status)).toEqual(Array(10).fill('fulfilled'));
    connection.destroy(new Error('enough'));
  });
});
