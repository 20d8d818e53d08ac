import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.js';
import { ConnectTimeoutError, InvalidOptionError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { systemEnvironment } from '../../src/platform/injected-environment.js';
import { Session } from '../../src/session/session.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import { freePort } from '../../tools/ports.mjs';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { candidateNodes } from '../support/conclave/electors.js';
import { leadingCommand } from '../support/conclave/running-command.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { startStalling } from '../support/conclave/stalling-process.js';
import { eventAfter } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { listening } from '../support/listening.js';
import { type Certificates, makeCertificates, PASSPHRASE } from '../support/servers/certificates.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/waiting.mjs';

let certificates: Certificates;
let securePort: number;
let mutualPort: number;
let plainPort: number | undefined;
const stops: (() => Promise<unknown>)[] = [];

/** Starts a server with a secure port. `clientAuth` says whether it asks its clients for a certificate. */
async function startSecureServer(clientAuth: 'none' | 'need') {
  const port = await freePort();
  const zookeeper = await startZooKeeper({
    settings: {
      ...certificates.settings,
      secureClientPort: port,
      secureClientPortAddress: '127.0.0.1',
      'ssl.clientAuth': clientAuth,
    },
  });
  stops.push(zookeeper.stop);
  return { port, plainPort: zookeeper.servers[0]?.port };
}

beforeAll(async () => {
  certificates = await makeCertificates();
  stops.push(certificates.remove);
  const [secure, mutual] = await Promise.all([startSecureServer('none'), startSecureServer('need')]);
  [securePort, plainPort, mutualPort] = [secure.port, secure.plainPort, mutual.port];
});

afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

const trusting = () => ({ tls: { ca: certificates.ca } });
const known = () => ({ tls: { ca: certificates.ca, pfx: certificates.client, passphrase: PASSPHRASE } });

/** So long that a server on a busy machine has shown its certificate. */
const ANSWERED_WITHIN_MS = 3000;

/** Tries to connect, and returns the error. */
async function failure(connect: string, options: SessionOptions): Promise<unknown> {
  const refused = await Session.connect(connect, { connectTimeoutMs: 1000, ...options }).then(
    (session) => session.close(),
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(ConnectTimeoutError);
  return refused;
}

describe('a session over TLS', () => {
  it.each([
    'localhost',
    '127.0.0.1',
    'localhost.', // Servers refuse a name with its dot in the handshake of TLS.
  ])('is served by a server whose certificate is for %s', async (host) => {
    const environment = { ...systemEnvironment, resolve: async () => ['127.0.0.1'] };
    const session = await openSession({ ...trusting(), environment }, `${host}:${securePort}`);
    const path = uniquePath();
    await session.create(path, { data: Buffer.from('x') });
    expect((await session.getData(path)).data.toString()).toBe('x');
    const hold = await new DistributedLock(session, `${path}/lock`).acquire();
    expect(hold.isHeld()).toBe(true);
    await hold.release();
  });

  it('is the same session after its connection was lost', async () => {
    const proxy = await startProxy(securePort, { readable: false });
    const session = await openSession(trusting(), proxy.connectString);
    const { value } = await session.create(`${uniquePath()}-`, { mode: 'ephemeral-sequential' });
    await eventAfter(session, 'resumed', () => proxy.dropConnections());
    expect(session.owns((await session.getData(value)).stat)).toBe(true);
  });

  it('is taken up over TLS by a main thread that goes on within the lease, when its connection was lost meanwhile', async () => {
    const proxy = await startProxy(securePort, { readable: false });
    const servers = `localhost:${proxy.port}`;
    const tls = { ca: certificates.ca.toString('base64') };
    const process = startStalling('lead, and resume', { servers, session: { tls, leaseMs: 5500 } });
    await process.said('blocks');
    proxy.dropConnections();
    process.unblock();
    const { lines } = await process.ended;
    const kept = ['was held all the time', 'held: true', 'the thread has seen no end', 'demoted: stopped'];
    expect(lines).toEqual(expect.arrayContaining([...kept, 'suspended', 'resumed', 'closed']));
  });

  it('refuses a server whose certificate no authority has signed, in the thread of maxStallMs too', async () => {
    const session = { tls: {}, connectTimeoutMs: ANSWERED_WITHIN_MS };
    const process = startStalling('hold nothing', { servers: `localhost:${securePort}`, session });
    const { code, stderr } = await process.ended;
    expect(stderr).toMatch(/no server accepted the session .*certificate/);
    expect(code).toBe(1);
  });

  it('refuses a server whose certificate is for another name, and says so', async () => {
    const environment = { ...systemEnvironment, resolve: async () => ['127.0.0.1'] };
    const refused = await failure(`zookeeper.example:${securePort}`, {
      ...trusting(),
      environment,
      connectTimeoutMs: ANSWERED_WITHIN_MS,
    });
    expect(refused).toMatchObject({
      message: expect.stringContaining("does not match certificate's altnames"),
    });
  });

  it('refuses a server whose certificate no authority has signed, and says so', async () => {
    const refused = await failure(`localhost:${securePort}`, {
      tls: {},
      connectTimeoutMs: ANSWERED_WITHIN_MS,
    });
    expect(refused).toMatchObject({ message: expect.stringContaining('certificate') });
  });

  it('sends such a server nothing, not even which session it is', async () => {
    let heard = 0;
    const options = { pfx: certificates.server, passphrase: PASSPHRASE };
    const server = createServer(options, (socket) => {
      socket
        .on('error', () => undefined)
        .on('data', (chunk) => {
          heard += chunk.length;
        });
    });
    server.on('tlsClientError', () => undefined);
    await failure(`127.0.0.1:${await listening(server)}`, { tls: {} });
    expect(heard).toBe(0);
  });

  it('does not come about when only one end speaks TLS', async () => {
    await failure(`127.0.0.1:${plainPort}`, trusting());
    await failure(`127.0.0.1:${securePort}`, {});
  });
});

/** The authority's certificate in a file that is removed with the test. */
async function authorityFile(): Promise<string> {
  const file = join(temporaryFolder(), 'authority.pem');
  await writeFile(file, certificates.ca);
  return file;
}

it('the keeper of a command over TLS closes the session of its runner that was killed', async () => {
  const [path, file] = [uniquePath('run'), await authorityFile()];
  const runner = await leadingCommand(path, ['--ca', file], { connect: `localhost:${securePort}` });
  const session = await openSession({}, `127.0.0.1:${plainPort}`);
  expect(await candidateNodes(session, path)).toHaveLength(1);
  runner.signal('SIGKILL');
  await until(async () => (await candidateNodes(session, path)).length === 0, 'the end of the session');
});

it('the command line over TLS is served by a server whose authority it was given', async () => {
  const print = vi.spyOn(console, 'log').mockReturnValue();
  const complain = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => void vi.restoreAllMocks());
  const file = await authorityFile();
  const words = ['status', uniquePath(), '-c', `localhost:${securePort}`, '--connect-timeout'];
  expect(await runCommandLine([...words, '10s', '--ca', file])).toBe(1);
  expect(print).toHaveBeenCalledWith('there is no such election');
  // No authority that the system trusts has signed the certificate. Without TLS the two sides don't understand each other.
  expect(await runCommandLine([...words, '2s', '--tls'])).toBe(69);
  expect(await runCommandLine([...words, '2s'])).toBe(69);
  expect(complain.mock.calls.map(([line]) => line)).toEqual([
    expect.stringContaining('there is nothing at'),
    expect.stringContaining('self-signed certificate'),
    expect.stringContaining('only one side uses TLS'),
  ]);
});

describe('mutual TLS', () => {
  it('lets in clients with a certificate, and no others', async () => {
    const session = await openSession(known(), `localhost:${mutualPort}`);
    expect(await session.exists('/')).toBeDefined();
    await failure(`localhost:${mutualPort}`, trusting());
  });

  it('shows the servers whose session it is: with access creator, and only with it, its nodes are its own', async () => {
    for (const [access, scheme] of [
      ['creator', 'x509'],
      [undefined, 'world'],
    ] as const) {
      const session = await openSession({ ...known(), access }, `localhost:${mutualPort}`);
      const path = uniquePath();
      await session.create(path);
      const id = scheme === 'x509' ? 'CN=client' : 'anyone';
      expect(await session.getAcl(path)).toEqual([{ scheme, id, permissions: 31 }]);
    }
  });
});

describe('the option tls', () => {
  it.each([
    ['true', () => true],
    ['a key that is none', () => ({ key: 'secret', cert: 'secret' })],
    ['a wrong passphrase', () => ({ pfx: certificates.client, passphrase: 'secret' })],
    ['a host', () => ({ host: 'secret' })],
    ['a socket', () => ({ socket: {} })],
    ['an address as servername', () => ({ servername: '127.0.0.1' })],
  ])('can not be %s; the error shows nothing of it', async (_, tls) => {
    const wrong = Session.connect('localhost', { tls: tls() as never });
    await expect(wrong).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(wrong).rejects.toMatchObject({ option: 'tls' });
    await expect(wrong).rejects.not.toThrow('secret');
  });
});
