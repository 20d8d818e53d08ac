import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Reader } from '../../../src/platform/injected-environment.js';
import { systemEnvironment } from '../../../src/platform/injected-environment.js';
import { listening } from '../../support/listening.js';

/** Opens a socket of the system with this reader, and returns both of its ends. */
async function connected(reader?: Reader): Promise<{ socket: Socket; far: Socket }> {
  const server = createServer();
  const port = await listening(server);
  const accepted = once(server, 'connection');
  const socket = systemEnvironment.openSocket({ host: '127.0.0.1', port }, reader);
  const [far] = (await accepted) as [Socket];
  onTestFinished(() => {
    socket.destroy();
    far.destroy();
  });
  return { socket, far };
}

/** A reader that keeps all data that it gets, with a function that waits for a number of bytes. */
function keeping() {
  const kept: Buffer[] = [];
  let onBytes: () => void = () => undefined;
  const reader: Reader = {
    read(bytes) {
      kept.push(bytes);
      onBytes();
    },
  };
  const all = () => Buffer.concat(kept);
  const untilThere = (count: number) =>
    new Promise<void>((resolve) => {
      onBytes = () => all().length >= count && resolve();
      onBytes();
    });
  return { kept, reader, all, untilThere };
}

describe("the system's sockets", () => {
  it('give a reader memory that it may keep, whatever comes later on the same or on another socket', async () => {
    const [one, other] = [keeping(), keeping()];
    const [first, second] = [await connected(one.reader), await connected(other.reader)];
    first.far.write('kept');
    await one.untilThere(4);
    second.far.write('something else');
    await other.untilThere(14);
    first.far.write(Buffer.alloc(200_000, 'x'));
    await one.untilThere(200_004);
    expect(one.kept[0]?.toString()).toBe('kept');
    expect(one.all().equals(Buffer.concat([Buffer.from('kept'), Buffer.alloc(200_000, 'x')]))).toBe(true);
    expect(other.all().toString()).toBe('something else');
  });

  it('end with the other end, though no code reads them as streams', async () => {
    const { reader, all, untilThere } = keeping();
    const { socket, far } = await connected(reader);
    far.end('the last word');
    await untilThere(13);
    await once(socket, 'close');
    expect(all().toString()).toBe('the last word');
    expect(socket.destroyed).toBe(true);
  });

  it('emit what comes where there is no reader', async () => {
    const { socket, far } = await connected();
    far.write('to whom it may concern');
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    expect(bytes.toString()).toBe('to whom it may concern');
  });
});
