import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { ElectionObserver } from '../../src/election/observer/election-observer.js';
import type { Term } from '../../src/election/term/term.js';
import { EnsembleResetError, NoServerError, SessionExpiredError } from '../../src/errors.js';
import type { Logger } from '../../src/platform/logging/logger.js';
import { Session } from '../../src/session/session.js';
import { EnsembleHistory } from '../../src/session/session-source.js';
import type { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { eventAfter, nextEvent, recordEvents } from '../support/events.js';
import { loggerOfWarnings } from '../support/recording-logger.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';
import { STAT } from '../support/wire/fake-server.mjs';
import { OPERATION } from '../support/wire/protocol.mjs';
import { startFakeServer } from '../support/wire/start-fake-server.js';

const SESSION_MS = 400;
const PATH = '/elections/lost-data';

const startServer = (port = 0) => startEmbedded({ tickMs: 50, port });

/** Restarts a server like a container without a volume: at the same address, and without its data. */
async function restartWithoutData(server: EmbeddedZooKeeper): Promise<EmbeddedZooKeeper> {
  const { port } = server;
  await server.stop();
  return await startServer(port);
}

/** Starts a server that serves no client, as without a quorum. It accepts connections and closes them unanswered. */
async function startServerWithoutQuorum(
  port: number,
): Promise<{ stop: () => Promise<void>; refused: () => number }> {
  let refused = 0;
  const { stop } = await startFakeServer({
    port,
    connected: (socket) =>
      socket.once('data', () => {
        refused++;
        socket.destroy();
      }),
  });
  return { stop, refused: () => refused };
}

async function connect(
  server: EmbeddedZooKeeper,
  sessionTimeoutMs = SESSION_MS,
  logger: Logger = SILENT,
): Promise<Session> {
  const session = await Session.connect(server.connectString, { sessionTimeoutMs, logger });
  onTestFinished(() => session.close());
  return session;
}

/** Records all errors, except that no server serves for a while, which these tests bring about. */
function recordErrors(emitter: ElectionSupervisor | ElectionObserver): Error[] {
  const errors: Error[] = [];
  const record = (error: Error) => {
    if (!(error instanceof NoServerError)) errors.push(error);
  };
  if (emitter instanceof ElectionSupervisor) emitter.on('error', record);
  else emitter.on('error', record);
  return errors;
}

async function supervise(server: EmbeddedZooKeeper, id: string) {
  const supervisor = new ElectionSupervisor({
    connect: server.connectString,
    path: PATH,
    id,
    session: { sessionTimeoutMs: SESSION_MS },
    retry: { minTimeout: 10, maxTimeout: 50 },
    cleanup: () => undefined,
  });
  onTestFinished(() => supervisor.stop());
  const errors = recordErrors(supervisor);
  const [term] = await eventAfter<[Term]>(supervisor, 'elected', () => supervisor.start());
  return { supervisor, term, errors };
}

describe('servers that have lost their data', () => {
  it('refused a session for ever, for what it had seen: it expires', async () => {
    const server = await startServer();
    const session = await connect(server);
    await session.create('/seen');
    const expired = nextEvent(session, 'expired');
    await restartWithoutData(server);
    await expired;
    expect(session.state).toEqual({ name: 'expired' });
    expect(session.signal.reason).toBeInstanceOf(SessionExpiredError);
  });

  it('are asked to close a session at once when it is closed while it looks for a server', async () => {
    const server = await startServer();
    const { warnings, logger } = loggerOfWarnings();
    const session = await connect(server, SESSION_MS, logger);
    await session.create('/seen');
    const seen = session.newestZxid;
    warnings.length = 0;
    const suspended = nextEvent(session, 'suspended');
    await restartWithoutData(server);
    await suspended;
    await session.close({ timeoutMs: 60_000 }); // With the bug this waited for as long as it may.
    expect(session.state).toEqual({ name: 'closed' });
    expect(warnings).toEqual(['session suspended']); // With the bug the log then said that the session had expired.
    expect(session.newestZxid).toBe(seen);
  });

  it('went unnoticed by a client that had closed its session: what that had seen was forgotten', async () => {
    const server = await startServer();
    const session = await connect(server);
    for (let round = 0; round < 10; round++) await session.create(`/n${round}`);
    const history = new EnsembleHistory();
    expect(await history.follow(session)).toBeUndefined();
    await session.close();
    const next = await connect(await restartWithoutData(server));
    expect(await history.follow(next)).toBeInstanceOf(EnsembleResetError);
  });

  it('left a session neither alive nor over when they fell silent over its closing: it expires', async () => {
    let closings = 0;
    const behind = await startFakeServer({
      handshake: (connection, seenZxid) => (connection === 1 || seenZxid === 0n ? SESSION_MS : undefined),
      answer: ({ type, connection }) => {
        if (connection === 1) return type === OPERATION.exists ? { body: STAT, zxid: 9n } : undefined;
        return undefined; // A follower answers pings by itself, but needs a quorum to close a session.
      },
      close: (connection) => (connection > 1 && ++closings > 1 ? {} : undefined),
    });
    const session = await Session.connect(behind.connectString, { sessionTimeoutMs: SESSION_MS });
    await eventAfter(session, 'expired', () => session.exists('/'));
    expect(closings).toBe(2);
  });

  it('left a supervisor without a session for ever: it cleans up, leads again, and says once that fencing starts anew', async () => {
    const server = await startServer();
    const writer = await connect(server);
    for (let round = 0; round < 100; round++) await writer.create(`/n${round}`); // More writes than the next ensemble begins with.
    const { supervisor, term, errors } = await supervise(server, 'a');
    const events = recordEvents(supervisor, 'demoted', 'expired', 'cleaned', 'elected');
    const elected = nextEvent<[Term]>(supervisor, 'elected');
    const another = await restartWithoutData(server);
    const [next] = await elected;
    expect(events).toEqual(['demoted', 'expired', 'cleaned', 'elected']);
    expect(next.number).toBe(term.number);
    await until(() => errors.length > 0, 'the report');
    expect(errors).toEqual([expect.any(EnsembleResetError)]);
    const { code, seenZxid, foundZxid } = errors[0] as EnsembleResetError;
    expect(code).toBe('ENSEMBLE_RESET');
    expect(seenZxid).toBeGreaterThan(foundZxid);

    // A later ordinary expiry causes no further error.
    await eventAfter(supervisor, 'elected', () => another.expireSession(() => true));
    expect(errors).toHaveLength(1);
  });

  it('left an observer with what it saw last: it reads anew, and says so once', async () => {
    const server = await startServer();
    // After many writes before the restart, the new record has a lower zxid.
    const session = await connect(server);
    for (let round = 0; round < 500; round++) await session.create(`/n${round}`);
    const { supervisor: former } = await supervise(server, 'former');
    const observer = new ElectionObserver(server.connectString, PATH, {
      session: { sessionTimeoutMs: SESSION_MS },
    });
    onTestFinished(() => observer.stop());
    const errors = recordErrors(observer);
    await observer.start();
    await until(() => observer.leader?.id === 'former', 'the sight of the first leader');
    await former.stop();
    await until(() => observer.leader === undefined, 'the end of the term');
    const another = await restartWithoutData(server);
    await supervise(another, 'latter');
    await until(() => observer.leader?.id === 'latter', 'the sight of the new leader');
    expect(errors).toEqual([expect.any(EnsembleResetError)]);
  });
});

it('servers without a quorum end no session, however long it takes: when they have one again, they serve it', async () => {
  const server = await startServer();
  // Longer than the longest pause between two tries. The session's timeout begins anew when the servers are back.
  const timeoutMs = 1500;
  const session = await connect(server, timeoutMs);
  await session.create('/mine', { mode: 'ephemeral' });
  const events = recordEvents(session, 'expired', 'resumed', 'closed');
  await server.crash();
  const { stop, refused } = await startServerWithoutQuorum(server.port);
  await until(
    () => session.state.name === 'suspended' && session.clock.now() - session.state.sinceMs > 2 * timeoutMs,
    'two session timeouts without a server',
  );
  expect(refused()).toBeGreaterThan(3);
  await stop();
  const resumed = nextEvent(session, 'resumed');
  await server.restart();
  await resumed;
  expect(events).toEqual(['resumed']);
  expect(server.sessionOf('/mine')).toBeDefined();
});
