import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { onTestFinished } from './vitest/test-end.js';

/** The port of a server that listens on 127.0.0.1 until the test has ended. HTTP/1.1's connections end with it. */
export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    (server as Partial<HttpServer>).closeAllConnections?.();
    await new Promise((resolve) => void server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
