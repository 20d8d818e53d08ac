import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { ElectionObserver } from '../../src/election/observer/election-observer.js';
import { InvalidOptionError, InvalidStateError } from '../../src/errors.js';
import type { StartOptions } from '../../src/platform/async/start-with-signal.js';
import type { EventSource } from '../../src/testing/controls/wait-for-events.js';
import { openSession } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { until } from '../support/waiting.mjs';

const NOWHERE = '127.0.0.1:1';
const reason = new Error('enough');

interface Startable extends EventSource {
  start(options?: StartOptions): Promise<void>;
  stop(): Promise<void>;
}

const supervisorOf = (connect: string) => new ElectionSupervisor({ connect, path: '/election' });
const observerOf = (connect: string) => new ElectionObserver(connect, '/election');

const kinds: [string, (connect: string) => Startable | Promise<Startable>][] = [
  ['a supervisor', supervisorOf],
  ['an elector', async (connect) => new LeaderElector(await openSession({}, connect), '/election')],
  ['an observer', observerOf],
];

describe.each(kinds)('start({ signal }) of %s', (_, make) => {
  async function setUp() {
    const server = await startEmbedded();
    const startable = await make(server.connectString);
    onTestFinished(() => startable.stop());
    return { server, startable };
  }

  it('gives up when the signal aborts, and leaves nothing behind (it was ignored)', async () => {
    const { server, startable } = await setUp();
    const sessions = server.sessions().length;
    server.delay(100); // So that the signal aborts in the middle of the start.
    const controller = new AbortController();
    const starting = startable.start({ signal: controller.signal });
    setTimeout(() => controller.abort(reason), 150);
    await expect(starting).rejects.toBe(reason);
    server.clearFaults();
    await until(() => server.sessions().length === sessions, 'the end of its session');
    expect(server.paths('/election').filter((path) => path.includes('-lock-'))).toEqual([]);
    expect(server.watchCount()).toBe(0);
    await expect(startable.start()).rejects.toBeInstanceOf(InvalidStateError);
  });

  it('does nothing at all if the signal has aborted before', async () => {
    const { server, startable } = await setUp();
    const requests = server.requests.length;
    await expect(startable.start({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(server.requests.length).toBe(requests);
    await startable.start(); // This works as if there had been no start before.
  });

  it('is no longer looked at when start() has resolved', async () => {
    const { startable } = await setUp();
    const controller = new AbortController();
    const signal = Object.assign(controller.signal, { listeners: 0 });
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      signal.listeners++;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      signal.listeners--;
      removeEventListener.apply(signal, args);
    };
    await startable.start({ signal });
    expect(signal.listeners).toBe(0);
    controller.abort(reason);
    await startable.start();
  });

  it.each<[unknown, string]>([
    [{ signal: 'soon' }, 'start.signal is "soon": expected an AbortSignal'],
    [{ signl: 1 }, 'start.signl is an unknown option: expected one of signal; did you mean start.signal?'],
    [7, 'start is 7: expected an object'],
  ])('refuses %j, and is as before', async (options, message) => {
    const { startable } = await setUp();
    const refused = startable.start(options as StartOptions);
    await expect(refused).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(refused).rejects.toThrow(message);
    await startable.start();
  });

  it('is not looked at if start() fails by itself, while a supervisor reports why and tries again', async () => {
    const { server, startable } = await setUp();
    for (const operation of ['getChildren', 'getData', 'create', 'multi'] as const)
      server.failWith('NO_AUTH', { operation });
    const controller = new AbortController();
    const starting = startable.start({ signal: controller.signal });
    if (!(startable instanceof ElectionSupervisor))
      return await expect(starting).rejects.toMatchObject({ code: 'NO_AUTH' });
    const [error] = await nextEvent<[Error]>(startable, 'error');
    expect(error).toMatchObject({ code: 'NO_AUTH' });
    controller.abort(reason);
    await expect(starting).rejects.toBe(reason);
  });
});

describe('without a server', () => {
  it.each<[string, () => Startable]>([
    ['a supervisor', () => supervisorOf(NOWHERE)],
    ['an observer', () => observerOf(NOWHERE)],
  ])('%s says so at once, with where and why, and can be given up by a signal', async (_, make) => {
    const startable = make();
    const reported = nextEvent<[Error]>(startable, 'error');
    const controller = new AbortController();
    const starting = startable.start({ signal: controller.signal });
    const [error] = await reported;
    expect(error).toMatchObject({ code: 'NO_SERVER', retryable: true, address: NOWHERE });
    expect(error).toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    controller.abort(reason);
    await expect(starting).rejects.toBe(reason);
  });

  const started = async (startable: Startable) => {
    onTestFinished(() => startable.stop());
    await startable.start();
    return startable;
  };
  it.each<[string, (connect: string) => Promise<EventSource>]>([
    ['a session', (connect) => openSession({}, connect)],
    ['a supervisor', (connect) => started(supervisorOf(connect))],
    ['an observer', (connect) => started(observerOf(connect))],
  ])('%s that had one says so too (that was silent)', async (_, make) => {
    const server = await startEmbedded();
    const source = await make(server.connectString);
    const [error] = await eventAfter<[Error]>(source, 'error', () => server.crash());
    expect(error).toMatchObject({ code: 'NO_SERVER', address: server.connectString });
    await server.restart();
  });

  it('a session whose server takes it, and lets go of it at its credentials, says so too (that was silent)', async () => {
    const server = await startEmbedded();
    const auth = { scheme: 'digest', credentials: 'user:secret-word' };
    const session = await openSession({ sessionTimeoutMs: 1000, auth }, server.connectString);
    const reported = nextEvent<[Error]>(session, 'error');
    server.swallowReply('auth', { times: 1000 });
    server.dropConnections();
    const [error] = await reported;
    expect(error.message).toContain('no server accepted the session: authentication: ');
    expect(error.message).not.toContain('secret-word');
  });
});
