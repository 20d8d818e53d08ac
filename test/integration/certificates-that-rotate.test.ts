/** Certificates and servers that change while a session lives, with real servers. */
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { DashboardState } from '../../src/dashboard/api-types.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { NodeLostError } from '../../src/errors.js';
import { Session } from '../../src/session/session.js';
import { freePort } from '../../tools/ports.mjs';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { follow, getJson } from '../support/conclave/dashboards.js';
import { leadThroughRestarts } from '../support/conclave/rolling-restart.js';
import { leadingCommand, RunningCommand } from '../support/conclave/running-command.js';
import { uniquePath } from '../support/conclave/sessions.js';
import { startStalling } from '../support/conclave/stalling-process.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { listening } from '../support/listening.js';
import { SILENT } from '../support/silent-logger.mjs';
import { temporaryFolder } from '../support/temporary-folder.js';
import { endsWithTest } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const PASSWORD = 'changeit';
const folder = temporaryFolder(afterAll);
let port: number;
let plainPort: number;
let stop: () => Promise<unknown>;

const at = (name: string) => join(folder, name);
const run = (program: string, ...words: string[]) => promisify(execFile)(program, words, { cwd: folder });

/** Issues a certificate for a new key: valid, unless it is `expired`. */
async function issue(name: string, subject: string, { san = '', expired = false } = {}) {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await run('openssl', 'req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject);
  await writeFile(at('ext'), san === '' ? '' : `subjectAltName=${san}`);
  const authority = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'ext'];
  const days = ['-days', expired ? '-1' : '2'];
  await run('openssl', 'x509', '-req', '-in', `${name}.csr`, ...authority, ...days, '-out', `${name}.pem`);
}

/** Writes a certificate and its key as a file for Java. */
async function store(name: string) {
  const pair = ['-in', `${name}.pem`, '-inkey', `${name}.key`, '-out', `${name}.p12`];
  await run('openssl', 'pkcs12', '-export', ...pair, '-passout', `pass:${PASSWORD}`);
}

async function tlsOf(name: string) {
  const [ca, cert, key] = await Promise.all(
    ['ca.pem', `${name}.pem`, `${name}.key`].map((file) => readFile(at(file))),
  );
  return { ca, cert, key } as { ca: Buffer; cert: Buffer; key: Buffer };
}

beforeAll(async () => {
  const ca = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const files = ['-keyout', 'ca.key', '-out', 'ca.pem'];
  await run('openssl', 'req', '-x509', ...ca, ...files, '-subj', '/CN=authority');
  await issue('server', '/CN=server', { san: 'DNS:localhost,IP:127.0.0.1' });
  await issue('first', '/O=Acme/CN=worker');
  await issue('renewed', '/O=Acme/CN=worker');
  await issue('other', '/O=Acme/CN=other');
  await issue('expired', '/O=Acme/CN=worker', { expired: true });
  await Promise.all([cp(at('first.pem'), at('mixed.pem')), cp(at('renewed.key'), at('mixed.key'))]);
  await issue('server-renewed', '/CN=server', { san: 'DNS:localhost,IP:127.0.0.1' });
  await Promise.all(['server', 'server-renewed'].map(store));
  const trusted = ['-keystore', 'trusted.p12', '-storetype', 'PKCS12', '-storepass', PASSWORD, '-noprompt'];
  await run('keytool', '-importcert', ...trusted, '-alias', 'authority', '-file', 'ca.pem');
  port = await freePort();
  const zookeeper = await startZooKeeper({
    settings: {
      ...tlsSettings('server'),
      secureClientPort: port,
      secureClientPortAddress: '127.0.0.1',
    },
  });
  plainPort = zookeeper.servers[0]?.port as number;
  stop = zookeeper.stop;
});

afterAll(() => stop?.());

/** The lines of `zoo.cfg` of a server with this certificate, which asks each client for one. */
function tlsSettings(name: string) {
  return {
    serverCnxnFactory: 'org.apache.zookeeper.server.NettyServerCnxnFactory',
    'ssl.keyStore.location': at(`${name}.p12`),
    'ssl.keyStore.password': PASSWORD,
    'ssl.trustStore.location': at('trusted.p12'),
    'ssl.trustStore.password': PASSWORD,
    'authProvider.x509': 'org.apache.zookeeper.server.auth.X509AuthenticationProvider',
    'ssl.clientAuth': 'need',
  };
}

/** Makes a certificate and its key the present ones, in files that keep their names. */
const copy = (name: string) =>
  Promise.all(['pem', 'key'].map((kind) => cp(at(`${name}.${kind}`), at(`current.${kind}`))));

const serialOf = async (name: string) => new X509Certificate(await readFile(at(`${name}.pem`))).serialNumber;

/** The server's end of TLS in front of the real server. It tells the certificates of its clients apart, and may find one expired. */
async function startFront() {
  const [key, cert, ca] = await Promise.all(
    ['server.key', 'server.pem', 'ca.pem'].map((file) => readFile(at(file))),
  );
  const present = new Set<TLSSocket>();
  const sessions: string[] = [];
  const questions: string[] = [];
  let expired: string | undefined;
  const front = createServer({ key, cert, ca, requestCert: true }, (socket) => {
    const { serialNumber } = socket.getPeerCertificate();
    socket.on('error', () => undefined).on('close', () => present.delete(socket));
    if (serialNumber === expired) return void socket.destroy();
    present.add(socket);
    socket.once('data', (first) => {
      (first.toString('latin1') === 'srvr' ? questions : sessions).push(serialNumber);
    });
    const server = connectTcp(plainPort, '127.0.0.1').on('error', () => socket.destroy());
    socket.pipe(server).pipe(socket);
  });
  return {
    connectString: `localhost:${await listening(front)}`,
    /** The serial number of each connection for a session, and of each for a question, in their order. */
    sessions,
    questions,
    expire: async (name: string) => {
      expired = await serialOf(name);
    },
    drop: () => {
      for (const socket of present) socket.destroy();
    },
  };
}

/** A session with the certificate `first`, through a proxy, and the names of the certificates that were given. */
async function openRotating() {
  const proxy = await startProxy(port, { readable: false });
  let name = 'first';
  const given: string[] = [];
  const tls = () => {
    given.push(name);
    return tlsOf(name);
  };
  const allowUnprotectedPaths = true; // In one test another subject uses the path, too.
  const options = {
    tls,
    access: 'creator',
    allowUnprotectedPaths,
    sessionTimeoutMs: 20_000,
    logger: SILENT,
  } as const;
  const session = endsWithTest(await Session.connect(proxy.connectString, options));
  const use = (next: string) => {
    name = next;
  };
  return { proxy, session, given, use };
}

describe('a client certificate', () => {
  it('is renewed at the next connection, and the session goes on with its nodes', async () => {
    const { proxy, session, given, use } = await openRotating();
    const path = uniquePath('mine');
    await session.create(path, { mode: 'ephemeral', data: Buffer.from('x') });
    const { id } = session.credentials;
    use('renewed');
    expect((await session.getData(path)).data.toString()).toBe('x');
    await eventAfter(session, 'resumed', () => proxy.dropConnections());
    expect([given[0], given.at(-1)]).toEqual(['first', 'renewed']);
    expect(session.ensemble.tls).toMatchObject(await tlsOf('renewed')); // So the dashboard asks the servers with it.
    expect(session.credentials.id).toBe(id);
    expect((await session.getData(path)).data.toString()).toBe('x');
    await session.setData(path, Buffer.from('y'));
  });

  it.each([
    ['has expired', 'expired'],
    ['does not fit its key', 'mixed'],
    ['is not there', 'missing'],
  ])('that %s is a failed try, and the session goes on when there is another one', async (_, wrong) => {
    const { proxy, session, given, use } = await openRotating();
    const path = uniquePath('mine');
    await session.create(path, { mode: 'ephemeral' });
    use(wrong);
    const resumed = nextEvent(session, 'resumed');
    proxy.dropConnections();
    await until(() => given.filter((each) => each === wrong).length > 1);
    expect(session.state.name).toBe('suspended');
    use('renewed');
    await resumed;
    expect(session.owns((await session.getData(path)).stat)).toBe(true);
  });

  it('for another subject ends the term, since the session may not use its own nodes', async () => {
    const { proxy, session, use } = await openRotating();
    const path = uniquePath('election');
    await session.ensurePath(path, [{ scheme: 'world', id: 'anyone', permissions: 31 }]);
    const elector = endsWithTest(new LeaderElector(session, path));
    await eventAfter(elector, 'elected', () => elector.start());
    const errors = nextEvent<[Error]>(session, 'error');
    const demoted = nextEvent(elector, 'demoted');
    use('other');
    proxy.dropConnections();
    expect((await errors)[0]).toBeInstanceOf(NodeLostError);
    await demoted;
    expect(session.state.name).toBe('connected');
  });

  it('that is renewed while the main thread stands still is shown by its next connection, and the term is kept', async () => {
    const proxy = await startProxy(port, { readable: false });
    await copy('first');
    const tlsFiles = { ca: at('ca.pem'), cert: at('current.pem'), key: at('current.key') };
    const servers = proxy.connectString;
    // So long that a busy machine connects within it.
    const process = startStalling('lead, and resume', { servers, session: { leaseMs: 5500, tlsFiles } });
    await process.said('blocks');
    await copy('renewed');
    proxy.dropConnections();
    process.unblock();
    const { lines } = await process.ended;
    expect(lines).toEqual(
      expect.arrayContaining(['was held all the time', 'resumed', 'held: true', 'demoted: stopped']),
    );
  });
});

it('a leader keeps its term while the listed servers change one by one until none of the first is left', async () => {
  const ensemble = endsWithTest(await startZooKeeper({ servers: 3 }));
  const proxies = await Promise.all(
    ensemble.servers.map((server) => startProxy(server.port, { readable: false })),
  );
  let listed = 0;
  const session = await Session.connect(() => (proxies[listed] as (typeof proxies)[0]).connectString, {
    sessionTimeoutMs: 20_000,
    logger: SILENT,
  });
  onTestFinished(() => session.close());
  const elector = endsWithTest(new LeaderElector(session, uniquePath('election')));
  await eventAfter(elector, 'elected', () => elector.start());
  const { term } = elector;
  for (const next of [1, 2]) {
    listed = next;
    await eventAfter(session, 'resumed', () => proxies[next - 1]?.dropConnections());
    expect(session.server?.port).toBe(Number(proxies[next]?.connectString.split(':').at(-1)));
    expect(term?.isHeld()).toBe(true);
  }
  expect(elector.term).toBe(term);
});

it('a supervisor leads while servers get another certificate, with a restart one by one, and it gets another one, too', async () => {
  const place = (name: string) => cp(at(`${name}.p12`), at('current-server.p12'));
  await place('server');
  const ensemble = await startZooKeeper({
    servers: 3,
    // Each server reads its certificate when it starts, and takes TLS at the port that all other tests of this project use without.
    settings: { ...tlsSettings('current-server'), 'client.portUnification': 'true' },
  });
  onTestFinished(async () => void (await ensemble.stop()));
  const { ca, ...first } = await tlsOf('first');
  const serials = () =>
    Promise.all(ensemble.servers.map((server) => serialAt(server.port, { ca, ...first })));
  const before = await serials();
  let name = 'first';
  await leadThroughRestarts(ensemble.servers, {
    connect: ensemble.connectString,
    session: { tls: () => tlsOf(name), access: 'creator' },
    beforeStart: () => place('server-renewed'),
    afterStart: async () => {
      name = 'renewed';
    },
  });
  const after = await serials();
  expect([new Set(before).size, new Set(after).size]).toEqual([1, 1]);
  expect(after[0]).not.toBe(before[0]);
});

it('the dashboard of the command reads the files of its certificate again, for its next connection and before that for its questions to the servers', async () => {
  const [first, renewed] = await Promise.all(['first', 'renewed'].map(serialOf));
  const front = await startFront();
  await copy('first');
  const files = ['--ca', at('ca.pem'), '--cert', at('current.pem'), '--key', at('current.key')];
  const command = new RunningCommand(['dashboard', '--port', '0', ...files], {
    connect: front.connectString,
  });
  await until(() => command.stdout.endsWith('\n'), 'its address');
  const url = command.stdout.trim();
  await follow(`${url}api/events`); // Servers are asked for their roles while a page is open.
  const state = () => getJson<DashboardState>(`${url}api/state`);
  const isShown = async () => (await state()).servers[0]?.role === 'standalone';
  await until(isShown, 'the role of the server');
  expect([front.sessions, new Set(front.questions)]).toEqual([[first], new Set([first])]);
  await front.expire('first');
  await copy('renewed');
  await until(() => front.questions.includes(renewed as string), 'a question with the new certificate');
  expect(front.sessions).toEqual([first]); // Its connection outlives the certificate.
  expect((await state()).servers).toMatchObject([{ role: 'standalone', isOurs: true }]);
  front.drop();
  await until(() => front.sessions.length > 1, 'the next connection');
  expect(front.sessions[1]).toBe(renewed);
  await until(async () => (await state()).connected, 'the session');
});

it('the keeper of a command that was killed reads the files of the certificate again', async () => {
  const front = await startFront();
  await copy('first');
  const files = ['--ca', at('ca.pem'), '--cert', at('current.pem'), '--key', at('current.key')];
  const runner = await leadingCommand(uniquePath('run'), files, { connect: front.connectString });
  await copy('renewed');
  const renewed = await serialOf('renewed');
  runner.signal('SIGKILL');
  await until(() => front.sessions.includes(renewed), 'the connection of the keeper');
});

/** The serial number of the certificate that a server shows. */
async function serialAt(at: number, options: Awaited<ReturnType<typeof tlsOf>>): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: at, ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return socket.getPeerCertificate().serialNumber;
}
