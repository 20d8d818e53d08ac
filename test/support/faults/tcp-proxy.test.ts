import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listening } from '../listening.js';
import { until } from '../waiting.mjs';
import { framed } from '../wire/frames.mjs';
import { Writer } from '../wire/jute.mjs';
import { OPERATION, type OperationName, XID } from '../wire/protocol.mjs';
import { startProxy } from './start-proxy.js';
import type { TcpProxy } from './tcp-proxy.mjs';

/** A frame that begins like a request's or a reply's. The rest doesn't matter here. */
const message = (xid: number, operation: OperationName, text = '') =>
  framed(new Writer().int(xid).int(OPERATION[operation]).string(text).done());
/** A frame that the proxy doesn't parse: requests and replies have other numbers. */
const frame = (text: string) => message(0, 'ping', text);

/** One end of a connection, and everything that has arrived there. */
class End {
  received = Buffer.alloc(0);
  isClosed = false;

  constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
    });
    socket
      .on('error', () => socket.destroy())
      .on('close', () => {
        this.isClosed = true;
      });
    onTestFinished(() => void socket.destroy());
  }

  async has(...frames: Uint8Array[]): Promise<void> {
    await until(() => this.received.equals(Buffer.concat(frames)), Buffer.concat(frames).toString('latin1'));
  }
}

/** A server that sends nothing by itself, a proxy in front of it, and both ends of a connection over that proxy. */
async function open() {
  const ends: End[] = [];
  const port = await listening(createServer((socket) => void ends.push(new End(socket))));
  /** Both ends of a new connection. */
  const connectOver = async (over: TcpProxy) => {
    const count = ends.length;
    const client = new End(connect(over.port));
    await until(() => ends.length > count, 'a connection');
    return { client, server: ends[count] as End };
  };
  const [proxy, other] = [await startProxy(port), await startProxy(port)];
  const beside = await connectOver(other);
  const marks: Buffer[] = [];
  /** Resolves when everything sent before would have come through a proxy without faults, in both directions. */
  const time = async () => {
    marks.push(frame('x'));
    beside.client.socket.write(frame('x'));
    await beside.server.has(...marks);
    beside.server.socket.write(frame('x'));
    await beside.client.has(...marks);
  };
  return { proxy, connectOver, time, ...(await connectOver(proxy)) };
}

const NOTHING = Buffer.alloc(0);

describe('a TCP proxy', () => {
  it('keeps what is sent during a partition, and hands it on in order when that is over', async () => {
    const { proxy, time, client, server } = await open();
    const heal = proxy.partition();
    client.socket.write(frame('one'));
    server.socket.write(frame('two'));
    await time();
    client.socket.write(frame(' more'));
    await time();
    expect([server.received, client.received]).toEqual([NOTHING, NOTHING]);
    heal();
    await server.has(frame('one'), frame(' more'));
    await client.has(frame('two'));
  });

  it('can be partitioned in one direction', async () => {
    const { proxy, time, client, server } = await open();
    const heal = proxy.partition('downstream');
    server.socket.write(frame('back'));
    client.socket.write(frame('there'));
    await server.has(frame('there'));
    await time();
    expect(client.received).toEqual(NOTHING);
    heal();
    await client.has(frame('back'));
  });

  it('can mute new connections, which stay silent, and no others', async () => {
    const { proxy, connectOver, time, ...before } = await open();
    const undo = proxy.muteNewConnections();
    const mute = await connectOver(proxy);
    undo();
    const after = await connectOver(proxy);
    for (const { client, server } of [before, mute, after]) {
      client.socket.write(frame('a'));
      server.socket.write(frame('b'));
    }
    for (const { client, server } of [before, after]) {
      await server.has(frame('a'));
      await client.has(frame('b'));
    }
    await time();
    await mute.server.has(NOTHING);
    await mute.client.has(NOTHING);
  });

  it('hands on no end during a partition either, but afterwards', async () => {
    const { proxy, time, client, server } = await open();
    const heal = proxy.partition('upstream');
    client.socket.end(frame('last words'));
    await time();
    expect([server.received, server.isClosed]).toEqual([NOTHING, false]);
    heal();
    await until(() => server.isClosed, 'the end at the server');
    expect(server.received).toEqual(frame('last words'));
  });

  // A half-open link also hides the server's end of the connection, which comes when the session has expired. If it came
  // through, the client would notice it, and the scenario of the hazards would see another failure than it expects.
  it("hands on no end of the server's during a partition until its connections are dropped", async () => {
    const { proxy, time, client, server } = await open();
    proxy.partition();
    server.socket.destroy();
    await time();
    expect([client.isClosed, proxy.inUse]).toEqual([false, true]);
    proxy.dropConnections();
    await until(() => client.isClosed, 'the end at the client');
  });

  it('is whole when the last of several partitions is over', async () => {
    const { proxy, time, client, server } = await open();
    const heals = [proxy.partition(), proxy.partition('upstream')];
    client.socket.write(frame('late'));
    heals[0]?.();
    await time();
    expect(server.received).toEqual(NOTHING);
    heals[1]?.();
    await server.has(frame('late'));
  });

  it('loses what was sent during a partition when it is restored: its connections end', async () => {
    const { proxy, connectOver, client, server } = await open();
    proxy.partition();
    client.socket.write(frame('lost'));
    proxy.restore();
    await until(() => client.isClosed && server.isClosed, 'the end at both');
    expect(server.received).toEqual(NOTHING);
    const next = await connectOver(proxy);
    next.client.socket.write(frame('there'));
    await next.server.has(frame('there'));
  });

  it('loses the reply to a request that arrives, and ends that connection alone', async () => {
    const { proxy, connectOver, time, ...reading } = await open();
    const writing = await connectOver(proxy);
    const [read, write] = [message(1, 'getData'), message(2, 'multi')];
    let lost = 0;
    void proxy.loseReplyTo(['create', 'multi']).then(() => lost++);
    reading.client.socket.write(read);
    await reading.server.has(read);
    reading.server.socket.write(frame('read'));
    await reading.client.has(frame('read'));
    writing.client.socket.write(write);
    await writing.server.has(write);
    expect(lost).toBe(0);
    writing.server.socket.write(message(2, 'multi', 'written'));
    await until(() => writing.client.isClosed && writing.server.isClosed, 'the end of the connection');
    await time();
    expect([lost, writing.client.received, reading.client.isClosed]).toEqual([1, NOTHING, false]);
  });

  it('loses that reply alone, or the end of it, and only if the request has the text', async () => {
    const { proxy, client, server } = await open();
    const lost = proxy.loseReplyTo('create', { text: 'this', bytes: 10 });
    const requests = [message(1, 'create', 'that'), message(2, 'create', 'this'), message(3, 'create')];
    client.socket.write(Buffer.concat(requests));
    await server.has(...requests);
    const event = message(XID.event, 'ping', 'event');
    server.socket.write(Buffer.concat([requests[0] as Buffer, event, ...requests.slice(1)]));
    await lost;
    await until(() => client.isClosed && server.isClosed, 'the end of the connection');
    await client.has(requests[0] as Buffer, event, (requests[1] as Buffer).subarray(0, 10));
  });

  it('is partitioned from a request on, which does not arrive', async () => {
    const { proxy, time, client, server } = await open();
    const partitioned = proxy.partitionFrom('create');
    client.socket.write(Buffer.concat([message(1, 'exists'), message(2, 'create'), message(3, 'exists')]));
    await partitioned;
    server.socket.write(message(1, 'exists'));
    await time();
    expect([server.received, client.received]).toEqual([message(1, 'exists'), NOTHING]);
  });

  it('ends a connection behind an event', async () => {
    const { proxy, client, server } = await open();
    const ended = proxy.endBehindEvent('/a');
    const event = message(XID.event, 'ping', '/a');
    server.socket.write(Buffer.concat([message(1, 'exists', '/a'), event, message(2, 'exists')]));
    await ended;
    await until(() => client.isClosed && server.isClosed, 'the end of the connection');
    expect(client.received).toEqual(Buffer.concat([message(1, 'exists', '/a'), event]));
  });

  it.each([
    ['upstream', { messages: 1 }, 1, 0],
    ['upstream', { messages: 1, bytes: 7 }, 1, 7],
    ['upstream', { bytes: 5 }, 0, 5],
    ['downstream', { messages: 2, bytes: 7 }, 2, 7],
  ] as const)('ends the next connection %s after %j, and no other', async (direction, after, whole, part) => {
    const { proxy, connectOver, ...before } = await open();
    const ended = proxy.cutNextConnection(direction, after);
    const { client, server } = await connectOver(proxy);
    const [from, to] = direction === 'upstream' ? [client, server] : [server, client];
    const sent = [frame('one'), frame('two'), frame('three')];
    from.socket.write(Buffer.concat(sent));
    await ended;
    await until(() => client.isClosed && server.isClosed, 'the end at both');
    expect(to.received).toEqual(
      Buffer.concat([...sent.slice(0, whole), sent[whole]?.subarray(0, part) ?? NOTHING]),
    );
    before.client.socket.write(frame('there'));
    await before.server.has(frame('there'));
  });

  it('counts the traffic of each connection by kind, from one call to the next', async () => {
    const { proxy, client, server } = await open();
    const probe = message(3, 'exists', 'without a watch\0');
    const requests = [frame('handshake'), message(1, 'multi'), message(2, 'exists', '/a\x01'), probe];
    client.socket.write(Buffer.concat(requests));
    await server.has(...requests);
    server.socket.write(message(XID.event, 'ping'));
    await client.has(message(XID.event, 'ping'));
    const [counts] = proxy.takeTraffic();
    expect(counts?.requests).toEqual({ connect: 1, multi: 1, exists: 2 });
    expect([counts?.multisAt.length, counts?.probesAt.length, counts?.notifications]).toEqual([1, 1, 1]);
    client.socket.end(message(XID.ping, 'ping'));
    await until(() => !proxy.inUse, 'the end of the connection');
    expect(proxy.takeTraffic()).toMatchObject([{ requests: { ping: 1 }, notifications: 0, isOpen: false }]);
    expect(proxy.takeTraffic()).toEqual([]);
  });
});
