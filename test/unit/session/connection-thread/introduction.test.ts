import { describe, expect, it } from 'vitest';
import { Introduction } from '../../../../src/session/connection-thread/introduction.js';
import { inOrder, tryMs } from '../../../../src/session/connection-thread/stand-in.js';
import { encodePing } from '../../../../src/session/protocol/frame-layout.js';
import { encodeAuth, encodeHandshake, NEW_SESSION } from '../../../../src/session/protocol/requests.js';

const PASSWORD = Buffer.alloc(16, 7);
const [FIRST, SECOND] = [encodeAuth('digest', 'a:b'), encodeAuth('digest', 'c:d')];

function answer(timeoutMs: number, id: bigint): Buffer {
  const reply = Buffer.alloc(36);
  reply.writeInt32BE(timeoutMs, 4);
  reply.writeBigInt64BE(id, 8);
  reply.writeInt32BE(PASSWORD.length, 16);
  PASSWORD.copy(reply, 20);
  return reply;
}

function introduced(reply: Buffer, lastZxid = 5n): Introduction {
  const introduction = new Introduction();
  introduction.writing(encodeHandshake({ ...NEW_SESSION, timeoutMs: 6000, lastZxid }));
  introduction.answered(reply);
  introduction.writing(Buffer.concat([FIRST, SECOND, encodePing(), FIRST]));
  return introduction;
}

describe('what the thread shows another server', () => {
  it("is the main thread's handshake with the granted session and the newest transaction, and then its credentials", () => {
    expect(introduced(answer(4000, 9n)).frames(8n)).toEqual({
      handshake: encodeHandshake({ id: 9n, password: PASSWORD, timeoutMs: 6000, lastZxid: 8n }),
      credentials: [FIRST, SECOND],
    });
  });

  it('is no older transaction than the main thread has shown', () => {
    const shown = introduced(answer(4000, 9n)).frames(3n);
    expect(shown?.handshake.readBigInt64BE(8)).toBe(5n);
  });

  it.each([
    ['an expired session', answer(0, 9n)],
    ['an answer without a password', answer(4000, 9n).subarray(0, 16)],
    ['half a password', answer(4000, 9n).subarray(0, 25)],
    ['no answer at all', Buffer.alloc(0)],
  ])('is nothing after %s', (_, reply) => {
    expect(introduced(reply).frames(8n)).toBeUndefined();
  });
});

describe('the servers that a stand-in tries', () => {
  const servers = [1, 2, 3].map((port) => ({ host: 'zk', port }));
  it('are the others, from any of them on, and then the one that was lost', () => {
    const [one, two, three] = servers as [
      { host: string; port: number },
      (typeof servers)[0],
      (typeof servers)[0],
    ];
    expect(inOrder(servers, two, 0)).toEqual([one, three, two]);
    expect(inOrder(servers, two, 0.99)).toEqual([three, one, two]);
    expect(inOrder([two], two, 0.5)).toEqual([two]);
  });

  it('get a quarter of a lease each at first, and later more, up to what a slow server needs', () => {
    const times = { leaseMs: 500, sessionTimeoutMs: 6000 };
    expect([0, 1, 2, 9].map((round) => tryMs(round, times))).toEqual([125, 250, 500, 2000]);
  });
});
