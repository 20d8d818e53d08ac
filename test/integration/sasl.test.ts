/** Sessions that authenticate by SASL, on real servers and on the embedded one: what each situation at the servers comes to. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import type { Term } from '../../src/election/term/term.js';
import { AuthenticationError, NoServerError } from '../../src/errors.js';
import { kerberos } from '../../src/kerberos/index.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { ignore } from '../../src/platform/async/promises.js';
import { Session } from '../../src/session/session.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import { forARealServer, forEachServer, type TestServer } from '../conformance/support/servers.js';
import { leadingCommand, RunningCommand } from '../support/conclave/running-command.js';
import { inOrder, openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { recordingLogger } from '../support/recording-logger.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../support/silent-logger.mjs';
import { endsWithTest } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';
import { FakeKerberos } from '../unit/kerberos/fake-module.js';

const saslUsers = { worker: 'worker-secret', other: 'other-secret', 日本: 'pässword' };
const WORKER = { username: 'worker', password: saslUsers.worker };
const OTHER = { username: 'other', password: saslUsers.other };
const WRONG = { username: 'worker', password: 'wrong-secret' };

const at = ({ port }: TestServer) => `127.0.0.1:${port}`;
const open = (server: TestServer, options: SessionOptions = {}) =>
  openSession({ logger: SILENT, ...options }, at(server));

/** The refusal of a session that is opened with these options. It shows no password. */
async function refusalOf(connect: string, options: SessionOptions): Promise<AuthenticationError> {
  const error = await Session.connect(connect, { logger: SILENT, ...options }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AuthenticationError);
  expect((error as Error).message).not.toMatch(/secret/);
  return error as AuthenticationError;
}

/** A supervisor that has been elected, of a server that is reached through a proxy. */
async function startSupervisor(server: TestServer) {
  const proxy = await startProxy(at(server));
  const path = uniquePath('election');
  const options = { path, session: { sasl: WORKER }, cleanup: ignore, logger: SILENT };
  const supervisor = endsWithTest(new ElectionSupervisor({ connect: proxy.connectString, ...options }));
  const [term] = await eventAfter<[Term]>(supervisor, 'elected', () => supervisor.start());
  return { proxy, supervisor, term };
}

describe('servers with SASL', () => {
  forEachServer(
    (server) => {
      it.each([WORKER, { username: '日本', password: saslUsers.日本 }])(
        'serve a session with the right password, whose nodes are its user’s own',
        async (sasl) => {
          const session = await open(server, { sasl });
          const path = uniquePath();
          await session.create(path);
          expect(await session.getAcl(path)).toEqual([
            { scheme: 'sasl', id: sasl.username, permissions: 31 },
          ]);
          const stranger = await open(server);
          await expect(stranger.getData(path)).rejects.toMatchObject({ code: 'NO_AUTH' });
        },
      );

      it.each([
        ['a wrong password', WRONG],
        ['an unknown user', { username: 'stranger', password: 'any-secret' }],
      ])('refuse %s, and say so', async (_, sasl) => {
        const { message } = await refusalOf(at(server), { sasl });
        expect(message).toMatch(
          /a server refused session\.sasl \(AUTH_FAILED, -115\): are the user and the password/,
        );
      });

      it('serve the session on a new connection, with its nodes', async () => {
        const proxy = await startProxy(at(server));
        const session = await openSession({ sasl: WORKER, logger: SILENT }, proxy.connectString);
        const hold = await new DistributedLock(session, uniquePath('lock')).acquire();
        await eventAfter(session, 'resumed', () => proxy.dropConnections());
        await session.setData(hold.path, Buffer.from('x'));
        expect(hold.isHeld()).toBe(true);
        await hold.release();
      });

      it('serve the session of another user, who may not read the nodes that it has created', async () => {
        const proxy = await startProxy(at(server));
        let user = WORKER;
        const options = { sasl: () => user, logger: SILENT };
        const session = await openSession(options, proxy.connectString);
        const path = uniquePath('mine');
        await session.create(path, { mode: 'ephemeral' });
        const { id } = session.credentials;
        user = OTHER;
        await eventAfter(session, 'resumed', () => proxy.dropConnections());
        expect(session.credentials.id).toBe(id);
        await expect(session.getData(path)).rejects.toMatchObject({ code: 'NO_AUTH' });
      });

      it('refuse the session that they served before, as long as the password is wrong: it goes on with the right one', async () => {
        const proxy = await startProxy(at(server));
        let user = WORKER;
        const options = { sasl: async () => user, logger: SILENT };
        const session = await openSession(options, proxy.connectString);
        const path = uniquePath('mine');
        await session.create(path, { mode: 'ephemeral' });
        const failed = nextEvent<[Error]>(session, 'error');
        user = WRONG;
        proxy.dropConnections();
        const [error] = await failed;
        expect(error).toBeInstanceOf(NoServerError);
        expect(error.cause).toBeInstanceOf(AuthenticationError);
        expect(error.message).toMatch(/refused session\.sasl .*; still retrying$/);
        const resumed = nextEvent(session, 'resumed');
        user = WORKER;
        await resumed;
        expect(session.owns((await session.getData(path)).stat)).toBe(true);
      });

      it('serve a session that shows credentials of the scheme digest, too', async () => {
        const auth = { scheme: 'digest', credentials: 'alice:a' } as const;
        const session = await open(server, { sasl: WORKER, auth });
        const path = uniquePath();
        await session.create(path);
        expect((await session.getAcl(path)).map(({ scheme }) => scheme).sort()).toEqual(['digest', 'sasl']);
      });
    },
    { saslUsers },
  );
});

describe('servers that require SASL', () => {
  forEachServer(
    (server) => {
      it.each<[string, SessionOptions]>([
        ['no credentials', {}],
        ['credentials of another scheme', { auth: { scheme: 'digest', credentials: 'alice:a' } }],
      ])('refuse a session with %s, and say what to give', async (_, options) => {
        const { message } = await refusalOf(at(server), options);
        expect(message).toMatch(
          /^the servers require authentication \(SESSION_CLOSED_REQUIRE_SASL_AUTH, -124\): give session\.sasl, or session\.auth/,
        );
      });

      it('refuse a wrong password with another code', async () => {
        const { message } = await refusalOf(at(server), { sasl: WRONG });
        expect(message).toMatch(/refused session\.sasl \(SESSION_CLOSED_REQUIRE_SASL_AUTH, -124\)/);
      });

      it('serve a supervisor, whose term outlives its connection', async () => {
        const { proxy, supervisor, term } = await startSupervisor(server);
        const session = await supervisor.session();
        await eventAfter(session, 'resumed', () => proxy.dropConnections());
        expect(term.isHeld()).toBe(true);
      });

      it('kept the node of a session that was closed while it had no connection, for the session timeout', async () => {
        const proxy = await startProxy(at(server));
        const options = { sasl: WORKER, sessionTimeoutMs: 20_000, logger: SILENT };
        const session = await openSession(options, proxy.connectString);
        const path = uniquePath('mine');
        await session.create(path, { mode: 'ephemeral' });
        await eventAfter(session, 'suspended', () => proxy.dropConnections());
        await session.close();
        const other = await open(server, { sasl: WORKER });
        expect(await other.exists(path)).toBeUndefined();
      });
    },
    { saslUsers, requireAuth: ['sasl'] },
  );
});

describe('servers without SASL', () => {
  forEachServer((server) => {
    it('refuse a session with a password: they can not check it', async () => {
      const { message } = await refusalOf(at(server), { sasl: WORKER });
      expect(message).toContain('a server knows no SASL users, so it can check no password');
    });

    it('refuse a session by Kerberos: they prove nothing', async () => {
      const sasl = kerberos(new FakeKerberos(), { hostOf: () => 'zk1' });
      const { message } = await refusalOf(at(server), { sasl });
      expect(message).toContain('a server has answered nothing to a ticket of Kerberos');
    });
  });
});

describe('servers that let in clients with a wrong password', () => {
  forARealServer({ security: { saslUsers }, settings: { allowSaslFailedClients: 'true' } }, (server) => {
    it('serve no session with a wrong password: it goes on with its identity only', async () => {
      const { message } = await refusalOf(at(server), { sasl: WRONG });
      expect(message).toContain('the server sets allowSaslFailedClients');
      await (await open(server, { sasl: WORKER })).create(uniquePath());
    });

    // They take the ticket for a beginning of DIGEST-MD5, and the stub takes any token for a proof.
    it('serve no session by Kerberos that they have let in before its end', async () => {
      const sasl = kerberos(new FakeKerberos(), { hostOf: () => 'zk1' });
      const { message } = await refusalOf(at(server), { sasl });
      expect(message).toContain('a server has ended GSSAPI before it has offered a security layer');
    });
  });
});

describe('servers with a JAAS configuration, but without authProvider.sasl', () => {
  forARealServer({ security: { saslUsers }, settings: { 'authProvider.sasl': '' } }, (server) => {
    const advice = /INVALID_ACL \(-114\): .*is authProvider\.sasl set on the servers\?$/;

    it('create no node for a session, and the error says what is missing', async () => {
      const session = await open(server, { sasl: WORKER });
      const creating = session.create(uniquePath());
      await expect(creating).rejects.toBeInstanceOf(AuthenticationError);
      await expect(creating).rejects.toThrow(advice);
      const committing = session.commit([{ kind: 'create', path: uniquePath() }]);
      await expect(committing).rejects.toThrow(advice);
      await session.create(uniquePath(), { access: 'world' });
    });

    it('refuse a chroot, a lock and a supervisor with the same error, at once', async () => {
      await expect(
        Session.connect(`${at(server)}${uniquePath()}`, { sasl: WORKER, logger: SILENT }),
      ).rejects.toThrow(advice);
      const session = await open(server, { sasl: WORKER });
      await expect(new DistributedLock(session, uniquePath()).acquire()).rejects.toThrow(advice);
      const options = { path: uniquePath(), session: { sasl: WORKER }, logger: SILENT };
      const supervisor = new ElectionSupervisor({ connect: at(server), ...options });
      await expect(supervisor.start()).rejects.toThrow(advice);
    });
  });
});

it('servers that know the identity of a session no longer are an error of the supervisor, which leads when they know it again', async () => {
  const server = await startEmbedded({ saslUsers });
  const options = {
    path: uniquePath('election'),
    session: { sasl: WORKER },
    cleanup: ignore,
    logger: SILENT,
  };
  const supervisor = endsWithTest(new ElectionSupervisor({ connect: server.connectString, ...options }));
  await eventAfter(supervisor, 'elected', () => supervisor.start());
  server.failWith('INVALID_ACL', { operation: 'multi' });
  const [error] = await eventAfter<[Error]>(supervisor, 'error', () => server.expireSession(() => true));
  expect(error).toBeInstanceOf(AuthenticationError);
  expect(error.message).toMatch(/is authProvider\.sasl set on the servers\?$/);
  await eventAfter(supervisor, 'elected', () => server.clearFaults());
});

describe('a round of servers', () => {
  it('of which one refuses the password and another takes it is no refusal', async () => {
    const server = await startEmbedded({ saslUsers });
    const proxy = await startProxy(server.connectString);
    server.failWith('AUTH_FAILED', { operation: 'sasl', times: 1 });
    const options = { sasl: WORKER, environment: inOrder, logger: SILENT };
    const session = await openSession(options, `${server.connectString},${proxy.connectString}`);
    expect(session.server).toMatchObject({ port: Number(proxy.connectString.split(':')[1]) });
    expect(server.sessions()).toHaveLength(1);
  });

  it('of which one refuses the password and another is not there is a refusal', async () => {
    const server = await startEmbedded({ saslUsers });
    for (const servers of [
      [server.connectString, '127.0.0.1:1'],
      ['127.0.0.1:1', server.connectString],
    ])
      await refusalOf(servers.join(), { sasl: WRONG, environment: inOrder });
  });
});

it('a leader whom the servers refuse later leads to the end of its lease, and its supervisor goes on with another session', async () => {
  const { clock, server } = await startWithTestClock({ saslUsers });
  const session = { sasl: WORKER, environment: clock.environment };
  const options = { connect: server.connectString, path: '/election', session, cleanup: ignore };
  const supervisor = new ElectionSupervisor({ ...options, logger: SILENT });
  onTestFinished(() => clock.advanceUntil(supervisor.stop()));
  const terms: Term[] = [];
  const ends: unknown[] = [];
  const errors: Error[] = [];
  supervisor
    .on('elected', (term) => terms.push(term))
    .on('demoted', (_, reason) => ends.push(reason))
    .on('error', (error) => errors.push(error));
  await clock.advanceUntil(supervisor.start());
  await clock.advanceUntil(() => terms.length === 1);
  const { id } = (await supervisor.session()).credentials;
  server.setSaslUsers({ worker: 'changed-secret' });
  server.dropConnections();
  await clock.advance((terms[0]?.remainingMs() ?? 0) - 1);
  expect([terms[0]?.isHeld(), ends]).toEqual([true, []]);
  await clock.advance(1);
  expect(terms[0]?.isHeld()).toBe(false);
  await clock.advance(60_000); // Its next session is not served either.
  expect(ends).toEqual(['lease-expired']);
  const refusals = errors.filter((error) => error instanceof NoServerError);
  expect(refusals.map(({ cause }) => (cause as Error).name)).toContain('AuthenticationError');
  server.setSaslUsers(saslUsers);
  await clock.advanceUntil(() => terms.length === 2);
  expect((await supervisor.session()).credentials.id).not.toBe(id);
});

describe('conclave run --sasl', () => {
  const start = () => startEmbedded({ saslUsers, requireAuth: ['sasl'] });

  it('runs the command, and exits with 77 and the reason if the password is wrong', async () => {
    const connect = (await start()).connectString;
    const words = ['run', uniquePath('run'), '--', 'true'];
    const right = new RunningCommand(words, { connect, env: { CONCLAVE_SASL: 'worker:worker-secret' } });
    expect(await right.exit()).toBe(0);
    const wrong = new RunningCommand(['run', '--sasl', 'worker:wrong-secret', ...words.slice(1)], {
      connect,
    });
    expect(await wrong.exit()).toBe(77);
    expect(wrong.stderr).toContain('a server refused session.sasl');
    expect(wrong.stderr).not.toContain('secret');
  });

  it('gives its keeper the password, which closes the session of a runner that was killed', async () => {
    const server = await start();
    const env = { CONCLAVE_SASL: 'worker:worker-secret' };
    const runner = await leadingCommand(uniquePath('run'), [], { connect: server.connectString, env });
    runner.signal('SIGKILL');
    await until(() => server.sessions().length === 0, 'the end of the session');
  });
});

it('the log names the schemes by which a session has authenticated, and nothing else of it', async () => {
  const server = await startEmbedded({ saslUsers });
  const { lines, logger } = recordingLogger();
  const auth = { scheme: 'digest', credentials: 'alice:digest-secret' } as const;
  const session = await openSession({ sasl: WORKER, auth, logger }, server.connectString);
  await eventAfter(session, 'resumed', () => server.dropConnections());
  const plain = await openSession({ logger }, server.connectString);
  const of = (searched: string) => lines.filter(({ message }) => message === searched);
  const authenticated = ['digest', 'sasl'];
  await until(() => of('session resumed').length > 0, 'the line');
  expect(of('session opened')).toEqual([
    expect.objectContaining({ authenticated }),
    expect.not.objectContaining({ authenticated: expect.anything() }),
  ]);
  expect(of('session resumed')).toEqual([expect.objectContaining({ authenticated })]);
  expect(JSON.stringify(lines)).not.toMatch(/secret|worker|alice|nonce|response=/);
  await plain.close();
});
