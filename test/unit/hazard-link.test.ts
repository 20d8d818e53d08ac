import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLink } from '../hazards/support/link.mjs';

/** Both ends of a connection over a link of its own to a server that says nothing by itself. */
async function open() {
  const accepted: Socket[] = [];
  const server = createServer((socket) => void accepted.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const link = await openLink(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  const client = connect(Number(link.connectString.split(':')[1]), '127.0.0.1');
  onTestFinished(() => {
    for (const socket of [client, ...accepted]) socket.destroy();
  });
  await once(server, 'connection');
  return { link, client, server: accepted[0] as Socket };
}

/** Resolves when whatever was sent before this could have come over a link that lets it through. */
async function time(): Promise<void> {
  const beside = await open();
  beside.server.end();
  await once(beside.client.resume(), 'close');
}

describe('a link of the hazards', () => {
  it('hands on the end of a connection', async () => {
    const { client, server } = await open();
    server.destroy();
    await once(client.resume(), 'close');
  });

  // What a half-open link is: with the server's end, which comes when the session has expired, the client that never
  // noticed the silence noticed that, and the scenario saw it fail in another way than it has to.
  it('hands on no end either while it is silent', async () => {
    const { link, client, server } = await open();
    let ended = false;
    client.resume().on('close', () => {
      ended = true;
    });
    link.silence();
    server.destroy();
    await time();
    expect(ended).toBe(false);
    expect(link.inUse).toBe(true);
    link.bounce();
    await once(client, 'close');
  });
});
