import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Link } from '../chaos/nemesis/link.js';
import { until } from '../helpers/cluster.js';

const MULTI = 14;
const GET_DATA = 4;

/** A frame with a request's number and operation, as ZooKeeper's. */
function request(number: number, operation: number): Buffer {
  const frame = Buffer.alloc(12);
  frame.writeInt32BE(8, 0);
  frame.writeInt32BE(number, 4);
  frame.writeInt32BE(operation, 8);
  return frame;
}

/** What a link reads in one direction are frames. */
function frame(text: string): string {
  return `\0\0\0${String.fromCharCode(text.length)}${text}`;
}

/** Everything that has come to one end. */
class End {
  received = '';
  isClosed = false;

  constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
    });
    socket
      .on('error', () => socket.destroy())
      .on('close', () => {
        this.isClosed = true;
      });
    onTestFinished(() => void socket.destroy());
  }

  async has(text: string): Promise<void> {
    await until(() => this.received === text, JSON.stringify(text));
  }
}

/** A server, a link to it, and as many connections over that as are asked for. */
async function open() {
  const ends: End[] = [];
  const server = createServer((socket) => void ends.push(new End(socket)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const link = async () => {
    const opened = await Link.open({ host: '127.0.0.1', port });
    onTestFinished(() => opened.close());
    return opened;
  };
  /** Both ends of a new connection. */
  const connectOver = async (over: Link) => {
    const count = ends.length;
    const client = new End(connect(Number(over.connectString.split(':')[1])));
    await until(() => ends.length > count, 'a connection');
    return { client, server: ends[count] as End };
  };
  const [tested, other] = [await link(), await link()];
  const beside = await connectOver(other);
  let marks = '';
  /** Resolves when whatever was sent before this could have come over a whole link, in both directions. */
  const time = async () => {
    marks += 'x';
    beside.client.socket.write(frame('x'));
    await beside.server.has(frame('x').repeat(marks.length));
    beside.server.socket.write('x');
    await beside.client.has(marks);
  };
  return { link: tested, connectOver, time };
}

describe('a link of the nemesis', () => {
  it('hands on what comes, both ways, and the end', async () => {
    const { link, connectOver } = await open();
    const { client, server } = await connectOver(link);
    client.socket.write(frame('there'));
    await server.has(frame('there'));
    server.socket.write('back');
    await client.has('back');
    client.socket.destroy();
    await until(() => server.isClosed, 'the end at the server');
  });

  it('keeps what is sent into a cut, and hands it on in order when it is whole again', async () => {
    const { link, connectOver, time } = await open();
    const { client, server } = await connectOver(link);
    const mend = link.cut('both');
    client.socket.write(frame('one'));
    server.socket.write('two');
    await time();
    client.socket.write(frame(' more'));
    await time();
    expect([server.received, client.received]).toEqual(['', '']);
    mend();
    await server.has(frame('one') + frame(' more'));
    await client.has('two');
  });

  it('can be cut in one direction', async () => {
    const { link, connectOver, time } = await open();
    const { client, server } = await connectOver(link);
    const mend = link.cut('back');
    server.socket.write('back');
    client.socket.write(frame('there'));
    await server.has(frame('there'));
    await time();
    expect(client.received).toBe('');
    mend();
    await client.has('back');
  });

  it('tells nobody of an end beyond a cut until that is over', async () => {
    const { link, connectOver, time } = await open();
    const { client, server } = await connectOver(link);
    const mend = link.cut('there');
    client.socket.end(frame('last words'));
    await time();
    expect([server.received, server.isClosed]).toEqual(['', false]);
    mend();
    await until(() => server.isClosed, 'the end at the server');
    expect(server.received).toBe(frame('last words'));
  });

  it('is whole when the last of several cuts is over', async () => {
    const { link, connectOver, time } = await open();
    const { client, server } = await connectOver(link);
    const mends = [link.cut('both'), link.cut('there')];
    client.socket.write(frame('late'));
    mends[0]?.();
    await time();
    expect(server.received).toBe('');
    mends[1]?.();
    await server.has(frame('late'));
  });

  it('ends its connections and takes no new ones until it is mended', async () => {
    const { link, connectOver } = await open();
    const { client, server } = await connectOver(link);
    const mend = link.refuse();
    await until(() => client.isClosed && server.isClosed, 'the end at both');
    const refused = new End(connect(Number(link.connectString.split(':')[1])));
    await until(() => refused.isClosed, 'a refusal');
    mend();
    await connectOver(link);
  });

  it('is late, in order', async () => {
    const { link, connectOver } = await open();
    const { client, server } = await connectOver(link);
    const mend = link.slow(100);
    const sentAt = performance.now();
    client.socket.write(frame('one '));
    client.socket.write(frame('two'));
    await server.has(frame('one ') + frame('two'));
    expect(performance.now() - sentAt).toBeGreaterThan(95);
    mend();
  });

  it('loses the reply to a write, which arrives, and ends that connection alone', async () => {
    const { link, connectOver, time } = await open();
    const [reading, writing] = [await connectOver(link), await connectOver(link)];
    const read = request(1, GET_DATA);
    const write = request(2, MULTI);
    let lost = 0;
    link.loseReply(() => lost++);
    reading.client.socket.write(read);
    await reading.server.has(read.toString('latin1'));
    reading.server.socket.write('read');
    await reading.client.has('read');
    writing.client.socket.write(write);
    await writing.server.has(write.toString('latin1'));
    expect(lost).toBe(0);
    writing.server.socket.write('written');
    await until(() => writing.client.isClosed && writing.server.isClosed, 'the end of the connection');
    await time();
    expect([lost, writing.client.received, reading.client.isClosed]).toEqual([1, '', false]);
  });
});
