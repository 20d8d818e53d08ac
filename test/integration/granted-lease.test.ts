import { connect, createServer } from 'node:net';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { DistributedLock, Session } from '../../dist/index.js';
import { uniquePath } from '../support/conclave/sessions.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { listening } from '../support/listening.js';
import { until } from '../support/waiting.mjs';

const TIMES = { sessionTimeoutMs: 30_000, leaseMs: 28_000 };
const GRANTED_MS = 5000;
/** The asked session timeout in a handshake: behind its length, the version and a zxid. */
const TIMEOUT_OFFSET = 16;

/** In front of the server that all tests share: grants {@link GRANTED_MS}, and says nothing after that. Refuses until it is opened. */
async function startStingyServer() {
  let isOpen = false;
  const listener = createServer((client) => {
    client.on('error', () => undefined).unref();
    if (!isOpen) {
      client.destroy();
      return;
    }
    const server = connect(inject('port') as number, '127.0.0.1').unref();
    server.on('error', () => undefined);
    client.once('data', (handshake: Buffer) => {
      handshake.writeInt32BE(GRANTED_MS, TIMEOUT_OFFSET);
      server.write(handshake);
    });
    server.once('data', (reply) => client.write(reply));
    client.on('close', () => server.destroy());
  });
  const open = () => {
    isOpen = true;
  };
  return { connectString: `127.0.0.1:${await listening(listener)}`, open };
}

describe.each([
  ['with a thread that holds the connection', { maxStallMs: 60_000 }],
  ['without one', {}],
])('the lease of a lock, %s,', (_, option) => {
  it('is bounded by what a server grants, from that moment on, and its signal aborts at that end', async () => {
    const first = await startProxy();
    const second = await startStingyServer();
    const servers = `${first.connectString},${second.connectString}`;
    const session = await Session.connect(servers, { ...TIMES, ...option });
    onTestFinished(() => session.close({ timeoutMs: 1 }));
    const hold = await new DistributedLock(session, uniquePath('granted')).acquire();
    second.open();
    await first.stop();
    await until(() => session.sessionTimeoutMs === GRANTED_MS);
    expect(hold.remainingMs()).toBeLessThanOrEqual(GRANTED_MS / 3);
    await until(() => hold.signal.aborted, 'the end', TIMES.leaseMs / 2);
    expect(hold.isHeld()).toBe(false);
  });
});
