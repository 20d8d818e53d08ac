import { describe, expect, it, onTestFinished } from 'vitest';
import { ConnectionLossError } from '../../../../src/errors.js';
import { ignore } from '../../../../src/platform/async/promises.js';
import type { Reply } from '../../../../src/session/connection/reply.js';
import type { Given } from '../../../../src/session/connection-thread/heartbeat-repeater.js';
import { deleteRequest, existsRequest, multiRequest } from '../../../../src/session/protocol/requests.js';
import { msOf } from '../../../support/lease-instant.js';
import { settle } from '../../../support/waiting.mjs';
import { reply } from '../../../support/wire/fake-server.mjs';
import { openConnection } from '../../../support/wire/fake-socket.js';
import { GOOD_BODIES, GREETING } from '../../../support/wire/hostile-frames.js';

const [EXISTS, DELETE, MULTI] = [3, 2, 14];

const event = (zxid = 1n) => reply(-1, { zxid, body: GOOD_BODIES[-1] as Buffer });

/** Opens a connection without requests, and records the data that it writes from now on. */
async function setUp() {
  const { socket, clock, connection } = await openConnection(GREETING);
  socket.written.length = 0;
  onTestFinished(() => connection.destroy(new Error('over')));
  const send = (request: Parameters<typeof connection.dispatch>[0]) =>
    void connection.send<unknown>(request).catch(ignore);
  const zxids = () => [connection.lastZxid, connection.repliedZxid];
  return { socket, clock, connection, send, zxids };
}

/** The requests in a chunk that was written at once, by ZooKeeper's numbers for their kinds. */
function askedIn(chunk: Buffer | undefined): number[] {
  const asked: number[] = [];
  for (let at = 0; chunk !== undefined && at < chunk.length; at += 4 + chunk.readInt32BE(at))
    asked.push(chunk.readInt32BE(at + 8));
  return asked;
}

describe('a connection', () => {
  it('writes what is asked in one go in one go, when that is over', async () => {
    const { socket, send } = await setUp();
    for (const path of ['/a', '/b', '/c']) send(existsRequest(path));
    expect(socket.written).toEqual([]);
    await settle();
    expect(socket.written.map(askedIn)).toEqual([[EXISTS, EXISTS, EXISTS]]);
  });

  it('tells the thread that holds it once what changes in one go, before code that goes on and anything that is written', async () => {
    const { socket, connection, send } = await setUp();
    const events: string[] = [];
    const write = socket.write.bind(socket);
    const give = (given: Given | undefined) => void events.push(`given ${given?.leaseMs}`);
    Object.assign(socket, {
      give,
      write: (bytes: Buffer) => {
        events.push('written');
        return write(bytes);
      },
    });
    const repeats = { answered: () => undefined, repeated: () => undefined };
    let leaseMs = 0;
    const change = (isUrgent = false) =>
      connection.give(
        () => ({ leaseMs, sessionTimeoutMs: 0, released: [], held: [], heartbeats: undefined }),
        repeats,
        isUrgent,
      );
    for (leaseMs = 1; leaseMs < 1000; leaseMs++) change();
    const goesOn = Promise.resolve().then(() => void events.push('goes on'));
    await goesOn;
    expect(events.splice(0)).toEqual(['given 1000', 'goes on']);
    change();
    send(deleteRequest('/a'));
    change(true);
    expect(events).toEqual(['given 1000', 'written', 'given 1000']);
    await settle();
    expect(events).toHaveLength(3);
  });

  it('writes a deletion at once, behind what was asked before it, and no second one of the same go', async () => {
    const { socket, send } = await setUp();
    const requests = [
      existsRequest('/a'),
      deleteRequest('/a'),
      existsRequest('/b'),
      multiRequest([{ kind: 'delete', path: '/b' }], 'world'),
    ];
    for (const request of requests.slice(0, 2)) send(request);
    expect(socket.written.map(askedIn)).toEqual([[EXISTS, DELETE]]);
    for (const request of requests.slice(2)) send(request);
    await settle();
    expect(socket.written.map(askedIn)).toEqual([
      [EXISTS, DELETE],
      [EXISTS, MULTI],
    ]);
    send(deleteRequest('/c'));
    expect(socket.written.map(askedIn).at(-1)).toEqual([DELETE]);
  });

  it('writes a claim at once, what is asked behind it when the go is over, and a check that writes nothing no sooner', async () => {
    const { socket, send } = await setUp();
    const claim = multiRequest(
      [
        { kind: 'check', path: '/a/own' },
        { kind: 'set', path: '/a', data: Buffer.from('held') },
      ],
      'world',
    );
    send(multiRequest([{ kind: 'check', path: '/b' }], 'world'));
    expect(socket.written).toEqual([]);
    for (const request of [claim, existsRequest('/a')]) send(request);
    expect(socket.written.map(askedIn)).toEqual([[MULTI, MULTI]]);
    await settle();
    expect(socket.written.map(askedIn)).toEqual([[MULTI, MULTI], [EXISTS]]);
  });

  it('counts a request from no later than when it is written, also one that comes after a deletion', async () => {
    const { socket, clock, connection } = await setUp();
    const sentAt: number[] = [];
    const outcome = {
      resolve: (answer: Reply<unknown>) => sentAt.push(msOf(answer.sentAt)),
      reject: (reason: unknown) => expect.fail(String(reason)),
    };
    const ask = (request: Parameters<typeof connection.dispatch>[0]) => connection.dispatch(request, outcome);
    ask(existsRequest('/a'));
    clock.jump(10);
    ask(deleteRequest('/a'));
    clock.jump(10);
    ask(existsRequest('/b'));
    await settle();
    expect(socket.written).toHaveLength(2);
    const there = { body: GOOD_BODIES[EXISTS] as Buffer };
    socket.emit('data', Buffer.concat([reply(1, there), reply(2), reply(3, there)]));
    expect(sentAt).toEqual([0, 0, 20]);
  });

  it('gives each request the reply in its turn', async () => {
    const { socket, connection } = await setUp();
    const asked = [connection.send(deleteRequest('/a')), connection.send(deleteRequest('/b'))];
    socket.emit('data', Buffer.concat([reply(1), reply(2, { code: -101 })]));
    const [first, second] = await Promise.allSettled(asked);
    expect(first?.status).toBe('fulfilled');
    expect(second).toMatchObject({ status: 'rejected', reason: { name: 'NoNodeError' } });
  });

  it('ends when a reply comes out of turn, and no request gets the reply to another', async () => {
    const { socket, connection } = await setUp();
    const asked = [connection.send(deleteRequest('/a')), connection.send(deleteRequest('/b'))];
    socket.emit('data', reply(2));
    for (const outcome of await Promise.allSettled(asked))
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(ConnectionLossError) });
    expect(socket.destroyed).toBe(true);
  });

  describe('over a server that sends the zxid of an event', () => {
    it('has seen the zxid of a reply or an event, and has been sent everything up to the zxid of a reply', async () => {
      const { socket, connection, zxids } = await setUp();
      const asked = connection.send(deleteRequest('/a'));
      socket.emit('data', reply(1, { zxid: 5n }));
      await asked;
      expect(zxids()).toEqual([5n, 5n]);
      socket.emit('data', event(7n));
      expect(zxids()).toEqual([7n, 5n]);
    });

    it('counts no reply as long as watches are not set again, and goes by what was so before', async () => {
      const { socket, connection, zxids } = await setUp();
      const portions = [
        { kind: 'data' as const, paths: ['/a'] },
        { kind: 'children' as const, paths: ['/b'] },
      ];
      connection.restoreWatches(portions, 3n);
      socket.emit('data', reply(1, { zxid: 9n }));
      await settle();
      expect(zxids()).toEqual([9n, 3n]);
      socket.emit('data', reply(2, { zxid: 9n }));
      await settle();
      connection.ping().catch(ignore);
      socket.emit('data', reply(-2, { zxid: 9n }));
      expect(zxids()).toEqual([9n, 9n]);
    });

    it('counts for nothing what has no zxid', async () => {
      const { socket, zxids } = await setUp();
      socket.emit('data', event(-1n));
      expect(zxids()).toEqual([0n, 0n]);
    });
  });
});
