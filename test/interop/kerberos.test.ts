/** Servers that demand Kerberos, with a KDC of Debian's MIT Kerberos and the npm package `kerberos`. */
import { readFile } from 'node:fs/promises';
import * as krb5 from 'kerberos';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import type { Term } from '../../src/election/term/term.js';
import { AuthenticationError, ConnectTimeoutError } from '../../src/errors.js';
import { type KerberosOptions, kerberos } from '../../src/kerberos/index.js';
import { Session } from '../../src/session/session.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { SASL_PROVIDER } from '../support/servers/jaas.js';
import { Kdc } from '../support/servers/kdc.js';
import { SILENT } from '../support/silent-logger.mjs';
import { onTestFinished } from '../support/vitest/test-end.js';
import { within } from '../support/waiting.mjs';

const SERVER = 'zookeeper/localhost';
const CLIENT = 'conclave';

let kdc: Kdc;
let server: Awaited<ReturnType<typeof startZooKeeper>>;
let connect: string;
let keytab: string;

let jaas: string;

const startServer = (settings: Record<string, string>) =>
  startZooKeeper({
    settings: { ...SASL_PROVIDER, ...settings },
    jaas,
    javaOptions: [`-Djava.security.krb5.conf=${kdc.configuration}`],
  });

beforeAll(async () => {
  kdc = await Kdc.start();
  keytab = await kdc.addPrincipal(CLIENT);
  jaas = kdc.jaasOf(SERVER, await kdc.addPrincipal(SERVER));
  server = await startServer({ sessionRequireClientSASLAuth: 'true' });
  connect = `localhost:${server.servers[0]?.port}`;
});

afterAll(async () => {
  await server?.stop();
  await kdc?.remove();
});

const VARIABLES = ['KRB5_CONFIG', 'KRB5_CLIENT_KTNAME', 'KRB5CCNAME'] as const;
const outside = VARIABLES.map((name) => [name, process.env[name]] as const);

beforeEach(() => {
  process.env.KRB5_CONFIG = kdc.configuration;
  process.env.KRB5_CLIENT_KTNAME = keytab;
  process.env.KRB5CCNAME = kdc.newCache();
});

afterEach(() => {
  for (const [name, value] of outside) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

const SHORT = { sessionTimeoutMs: 5000, connectTimeoutMs: 3000, logger: SILENT } as const;

/** The error of a session that isn't opened, and the one that caused it. */
async function refusal(
  options: KerberosOptions = {},
  at = connect,
): Promise<{ readonly error: Error; readonly cause: Error }> {
  const opened = Session.connect(at, { ...SHORT, sasl: kerberos(krb5, options) });
  const error = await opened.then(
    (session) => session.close().then(() => expect.unreachable('a session was opened')),
    (reason: unknown) => reason as Error,
  );
  return { error, cause: error.cause as Error };
}

describe('servers that demand Kerberos', () => {
  it('serve a session with a ticket by a keytab, whose nodes are for its principal only', async () => {
    const session = await openSession({ sasl: kerberos(krb5) }, connect);
    const path = uniquePath('kerberos');
    await session.create(path, { data: Buffer.from('mine') });
    expect((await session.getData(path)).data.toString()).toBe('mine');
    const other = await kdc.addPrincipal('other');
    process.env.KRB5_CLIENT_KTNAME = other;
    process.env.KRB5CCNAME = kdc.newCache();
    const stranger = await openSession({ sasl: kerberos(krb5) }, connect);
    await expect(stranger.getData(path)).rejects.toMatchObject({ code: 'NO_AUTH' });
    await session.remove(path);
  });

  it('find the principal by hostOf, also for an address', async () => {
    const sasl = kerberos(krb5, { hostOf: () => 'localhost' });
    const session = await openSession({ sasl }, server.connectString);
    expect(await session.exists('/')).toBeDefined();
  });

  it('take no session of an address without hostOf: the error says what to do', async () => {
    const opened = Session.connect(server.connectString, { ...SHORT, sasl: kerberos(krb5) });
    await expect(opened).rejects.toThrow(
      'a server in the connect string is "127.0.0.1": expected the name of its host',
    );
  });

  it('are not asked without a ticket: each try fails, and says so', async () => {
    delete process.env.KRB5_CLIENT_KTNAME;
    const { error, cause } = await refusal();
    expect(error).toBeInstanceOf(ConnectTimeoutError);
    expect(cause.message).toMatch(
      /^Kerberos gives no ticket for zookeeper\/localhost: .*No Kerberos credentials available \(default cache: FILE:.*\)$/,
    );
  });

  it('are not asked if the KDC is down, and serve the session once it is there again', async () => {
    await kdc.pause();
    onTestFinished(() => kdc.resume());
    const { cause } = await refusal();
    expect(cause.message).toMatch(
      /zookeeper\/localhost: .*Cannot contact any KDC for realm 'CONCLAVE\.TEST'/,
    );
    const late = openSession({ sasl: kerberos(krb5), connectTimeoutMs: 30_000 }, connect);
    await kdc.resume();
    expect(await (await late).exists('/')).toBeDefined();
  });

  it('are not asked under the name of another service', async () => {
    const { error, cause } = await refusal({ service: 'zk' });
    expect(error).toBeInstanceOf(ConnectTimeoutError);
    expect(cause.message).toMatch(
      /for zk\/localhost: .*Server zk\/localhost@CONCLAVE\.TEST not found in Kerberos database/,
    );
  });

  it('refuse a ticket for another principal than theirs: the error names it, and asks for no password', async () => {
    await kdc.addPrincipal('zookeeper/other');
    const { error } = await refusal({ hostOf: () => 'other' });
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.message).toMatch(
      /^a server refused session\.sasl \(.*, -1(15|24)\): it does not take the Kerberos ticket for zookeeper\/other: /,
    );
    expect(error.message).not.toMatch(/password/);
  });

  it('leave Node its threads for files and DNS if the KDC does not answer', async () => {
    kdc.freeze();
    onTestFinished(() => kdc.resume());
    const threads = 4; // Of libuv, by default.
    const opening = Array.from({ length: threads + 2 }, () =>
      Session.connect(connect, { ...SHORT, sasl: kerberos(krb5) }),
    );
    for (const { reason } of (await Promise.allSettled(opening)) as PromiseRejectedResult[])
      expect(reason).toBeInstanceOf(ConnectTimeoutError);
    await within(5000, readFile(keytab), 'no thread is left to read a file');
    await kdc.resume();
    expect(await (await openSession({ sasl: kerberos(krb5) }, connect)).exists('/')).toBeDefined();
  });

  it('serve a supervisor that leads, and goes on leading after a cut link, also without a KDC', async () => {
    const path = uniquePath('election');
    const proxy = await startProxy(server.servers[0]?.port as number);
    const supervisor = new ElectionSupervisor({
      connect: `localhost:${proxy.port}`,
      path,
      session: { sasl: kerberos(krb5) },
      cleanup: () => undefined,
      logger: SILENT,
    });
    onTestFinished(() => supervisor.stop());
    const [term] = await eventAfter<[Term]>(supervisor, 'elected', () => supervisor.start());
    const session = await supervisor.session();
    await kdc.pause();
    onTestFinished(() => kdc.resume());
    await eventAfter(session, 'resumed', () => proxy.dropConnections());
    expect(term.isHeld()).toBe(true);
    // Its access list names the principal.
    expect((await session.getData(path)).data.length).toBeGreaterThan(0);
  });
});

it('a server that lets in clients whose tickets it refuses serves no session of them, and one with a ticket that it takes', async () => {
  const lenient = await startServer({ allowSaslFailedClients: 'true' });
  onTestFinished(async () => void (await lenient.stop()));
  const at = `localhost:${lenient.servers[0]?.port}`;
  await kdc.addPrincipal('zookeeper/another');
  const { error } = await refusal({ hostOf: () => 'another' }, at);
  expect(error).toBeInstanceOf(AuthenticationError);
  expect(error.message).toMatch(
    /^a server has answered nothing to a ticket of Kerberos: .*sets allowSaslFailedClients$/,
  );
  const session = await openSession({ sasl: kerberos(krb5), logger: SILENT }, at);
  await session.create(uniquePath());
});
