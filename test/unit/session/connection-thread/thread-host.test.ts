import { EventEmitter } from 'node:events';
import tls, { type ConnectionOptions } from 'node:tls';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemEnvironment } from '../../../../src/platform/injected-environment.js';
import { SessionThread } from '../../../../src/session/connection-thread/session-thread.js';
import { ThreadHost, threadOptions } from '../../../../src/session/connection-thread/thread-host.js';
import type { FromThread, ToThread } from '../../../../src/session/connection-thread/thread-messages.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { settle } from '../../../support/waiting.mjs';

const OPENING = {
  endpoint: { server: { host: 'fake', port: 1 }, address: '127.0.0.1' },
  tls: undefined,
  maxStallMs: 10_000,
  turns: new SharedArrayBuffer(4),
};
const WITHIN_MS = 1000;

/** A thread whose other end is the test. */
class FakeWorker extends EventEmitter {
  readonly got: ToThread[] = [];
  isReferenced = true;
  isTerminated = false;

  postMessage(message: ToThread): void {
    this.got.push(message);
  }
  says(message: FromThread): void {
    this.emit('message', message);
  }
  ref(): void {
    this.isReferenced = true;
  }
  unref(): void {
    this.isReferenced = false;
  }
  terminate(): Promise<number> {
    this.isTerminated = true;
    this.emit('exit', 1);
    return Promise.resolve(1);
  }
}

function setUp() {
  const clock = new TestClock();
  const workers: FakeWorker[] = [];
  const host = new ThreadHost(clock, () => {
    const worker = new FakeWorker();
    workers.push(worker);
    return worker as unknown as Worker;
  });
  const session = {};
  host.join(session);
  /** Opens a connection, and keeps what its socket emits. */
  const open = (answerWithinMs = WITHIN_MS) => {
    const socket = host.open(OPENING, answerWithinMs);
    const heard: string[] = [];
    socket.on('connect', () => heard.push('connect'));
    socket.on('data', (bytes: Buffer) => heard.push(`data ${bytes}`));
    socket.on('error', (error: Error) => heard.push(`error ${error.message}`));
    socket.on('close', () => heard.push('close'));
    return { socket, heard };
  };
  const worker = (at = 0) => workers[at] as FakeWorker;
  return { clock, workers, host, session, open, worker };
}

describe('the host of the thread', () => {
  it("starts it without the application's options of Node, and with the rest of the environment", () => {
    const options = threadOptions({ NODE_OPTIONS: '--import ./mine.js', PATH: '/bin' });
    expect(options).toEqual({ execArgv: [], env: { PATH: '/bin' } });
  });

  it('starts one thread for all connections, and ends it when no session and no connection is left', () => {
    const { workers, host, session, open, worker } = setUp();
    expect(workers).toEqual([]);
    open();
    open();
    const other = {};
    host.join(other);
    host.leave(session);
    worker().says({ kind: 'closed', id: 1 });
    host.leave(other);
    expect(worker().isTerminated).toBe(false); // A connection is left, over which a session is being closed.
    worker().says({ kind: 'closed', id: 2 });
    expect(worker().isTerminated).toBe(true);
    expect(workers).toHaveLength(1);
  });

  it('keeps the thread between two connections of a session', () => {
    const { workers, open, worker } = setUp();
    open();
    worker().says({ kind: 'closed', id: 1 });
    expect(worker().isTerminated).toBe(false);
    open();
    expect(workers).toHaveLength(1);
  });

  it('keeps the process running while there is a connection, as a socket does, and not otherwise', () => {
    const { open, worker } = setUp();
    open();
    open();
    expect(worker().isReferenced).toBe(true);
    worker().says({ kind: 'closed', id: 1 });
    expect(worker().isReferenced).toBe(true);
    worker().says({ kind: 'closed', id: 2 });
    expect(worker().isReferenced).toBe(false);
    open();
    expect(worker().isReferenced).toBe(true);
  });

  it('gives a thread that does not answer the time of the session that allows it the shortest, though another one has asked before', async () => {
    const { clock, open, worker } = setUp();
    const [patient, hasty] = [open(20 * WITHIN_MS), open(WITHIN_MS)];
    worker().says({ kind: 'here' });
    await clock.advance(10 * WITHIN_MS);
    for (const { socket } of [patient, hasty]) socket.write('a frame');
    expect(worker().got.filter(({ kind }) => kind === 'ask')).toHaveLength(1);
    await clock.advance(WITHIN_MS + 1);
    expect(hasty.heard.at(-1)).toBe('close');
    expect(patient.heard.at(-1)).toBe('close');
  });

  it('reports no error of the thread for a connection that was destroyed, as a socket does', () => {
    const { open, worker } = setUp();
    const { socket, heard } = open();
    socket.destroy();
    worker().emit('error', new Error('out of memory'));
    expect(heard).toEqual(['close']);
  });

  it('passes on what the thread reports, each to its connection, and nothing after its end', () => {
    const { open, worker } = setUp();
    const [one, two] = [open(), open()];
    const codes: unknown[] = []; // By its code the session tells how the connection ended.
    two.socket.on('error', (error: NodeJS.ErrnoException) => codes.push(error.code));
    worker().says({ kind: 'connected', id: 2 });
    worker().says({ kind: 'data', id: 2, bytes: new Uint8Array(Buffer.from('hello')) });
    worker().says({ kind: 'failed', id: 2, error: { message: 'reset', code: 'ECONNRESET' } });
    worker().says({ kind: 'closed', id: 2 });
    worker().says({ kind: 'data', id: 2, bytes: new Uint8Array(1) });
    expect(two.heard).toEqual(['connect', 'data hello', 'error reset', 'close']);
    expect([one.heard, codes]).toEqual([[], ['ECONNRESET']]);
  });

  /** All connections are lost for that reason, and the next one has another thread. */
  function losesAll(fail: (worker: FakeWorker) => unknown, why: string): void {
    const { workers, open, worker } = setUp();
    const [one, two] = [open(), open()];
    fail(worker());
    const lost = [`error the thread that holds the connection has failed: ${why}`, 'close'];
    expect(one.heard).toEqual(lost);
    expect(two.heard).toEqual(lost);
    expect(worker().isTerminated).toBe(true);
    const next = open();
    expect(workers).toHaveLength(2);
    worker(1).says({ kind: 'connected', id: 3 });
    expect(next.heard).toEqual(['connect']);
    expect(one.heard).toEqual(lost);
  }

  it('loses all connections when the thread throws, with that cause, and starts another thread for the next', () => {
    losesAll((worker) => worker.emit('error', new Error('a bug')), 'a bug');
  });

  it('does so when the thread exits, too', () => {
    losesAll((worker) => worker.emit('exit', 7), 'it exited with code 7');
  });

  it('does so, too, when the thread sends something that cannot be read', () => {
    losesAll((worker) => worker.emit('messageerror', new Error('odd')), 'odd');
  });

  it('reports as a lost connection that no thread can be started', async () => {
    const host = new ThreadHost(new TestClock(), () => {
      throw new Error('threads are forbidden');
    });
    const socket = host.open(OPENING, WITHIN_MS);
    const heard: string[] = [];
    socket.on('error', (error: Error) => heard.push(error.message));
    socket.on('close', () => heard.push('close'));
    await settle();
    expect(heard).toEqual([
      'the thread that holds the connection has failed: threads are forbidden',
      'close',
    ]);
    socket.write(Buffer.alloc(1));
    socket.destroy();
  });

  it('reports as a lost connection that the thread can not be given it, and lets the process exit', async () => {
    const { open, worker } = setUp();
    const first = open();
    worker().says({ kind: 'closed', id: 1 });
    worker().postMessage = () => {
      throw new Error('a function could not be cloned');
    };
    const { heard } = open();
    await settle();
    expect(heard).toEqual([
      'error the thread that holds the connection has failed: a function could not be cloned',
      'close',
    ]);
    expect(first.heard).toEqual(['close']);
    expect(worker().isReferenced).toBe(false);
  });

  it('passes on nothing to a connection that was destroyed but its end: no handshake is written any more', () => {
    const { open, worker } = setUp();
    const { socket, heard } = open();
    socket.once('connect', () => socket.write(Buffer.from('handshake')));
    socket.destroy();
    worker().says({ kind: 'connected', id: 1 });
    worker().says({ kind: 'data', id: 1, bytes: new Uint8Array(Buffer.from('late')) });
    worker().says({ kind: 'closed', id: 1 });
    expect(heard).toEqual(['close']);
    expect(worker().got.map(({ kind }) => kind)).not.toContain('write');
  });

  it('replaces a thread that does not answer', async () => {
    const { clock, workers, open, worker } = setUp();
    const { socket, heard } = open();
    await clock.advance(10 * WITHIN_MS);
    socket.write(Buffer.from('handshake'));
    expect(worker().got.at(-1)).toMatchObject({ kind: 'write' }); // It is starting still.
    worker().says({ kind: 'here' });
    await clock.advance(WITHIN_MS);
    socket.write(Buffer.from('heartbeat'));
    expect(worker().got.at(-1)).toEqual({ kind: 'ask' });
    await clock.advance(WITHIN_MS - 1);
    expect(heard).toEqual([]);
    await clock.advance(2);
    expect(heard[0]).toBe(
      'error the thread that holds the connection has failed: it did not answer within 1000 ms',
    );
    expect(worker().isTerminated).toBe(true);
    open();
    expect(workers).toHaveLength(2);
  });

  it('replaces a thread that does not report the end of a connection, though nothing more is asked of it', async () => {
    const { clock, open, worker } = setUp();
    const { socket, heard } = open();
    worker().says({ kind: 'here' });
    socket.destroy();
    await clock.advance(WITHIN_MS - 1);
    expect(heard).toEqual([]);
    await clock.advance(2);
    expect(heard).toEqual(['close']);
    expect(worker().isTerminated).toBe(true);
    expect(worker().isReferenced).toBe(false);
  });

  it('does not ask a thread again that has reported something meanwhile, and replaces none that answers', async () => {
    const { clock, workers, open, worker } = setUp();
    const { socket } = open();
    worker().says({ kind: 'here' });
    const asked = () => worker().got.filter(({ kind }) => kind === 'ask').length;
    for (let beats = 1; beats <= 10; beats++) {
      await clock.advance(WITHIN_MS);
      socket.write(Buffer.from('heartbeat'));
      expect(asked()).toBe(beats);
      worker().says({ kind: 'here' });
      socket.write(Buffer.from('and more'));
      expect(asked()).toBe(beats);
    }
    expect(workers).toHaveLength(1);
    expect(clock.timerCount).toBe(0);
  });

  it('sends bytes in memory of their own, and those of no other buffer', () => {
    const { open, worker } = setUp();
    const { socket } = open();
    socket.write(Buffer.from('a small buffer of the pool'));
    const message = worker().got.at(-1) as ToThread & { kind: 'write' };
    expect(Buffer.from(message.bytes).toString()).toBe('a small buffer of the pool');
    expect(message.bytes.buffer.byteLength).toBe(message.bytes.length);
  });
});

/** Opens a connection of a session by its thread. */
function openByThread(given?: ConnectionOptions) {
  const clock = new TestClock();
  const worker = new FakeWorker();
  const environment = { ...systemEnvironment, clock, startThread: () => worker as unknown as Worker };
  const thread = new SessionThread({ environment, maxStallMs: 60_000, sessionTimeoutMs: 6000 });
  onTestFinished(() => thread.end());
  const { socket } = thread.open(OPENING.endpoint, given);
  return { clock, worker, thread, socket };
}

describe('a session', () => {
  it('gives its thread a third of the session timeout for an answer', async () => {
    const { clock, worker, thread, socket } = openByThread();
    const errors: string[] = [];
    socket.on('error', (error: Error) => errors.push(error.message));
    worker.says({ kind: 'here' });
    await clock.advance(6000);
    socket.write(Buffer.from('heartbeat'));
    await clock.advance(1999);
    expect(errors).toEqual([]);
    await clock.advance(2);
    expect(errors).toEqual([
      'the thread that holds the connection has failed: it did not answer within 2000 ms',
    ]);
    thread.end();
    expect(clock.timerCount).toBe(0);
  });
});

describe("the thread's connections by TLS", () => {
  const opened = (given: ConnectionOptions) => {
    const [message] = openByThread(given).worker.got;
    return message?.kind === 'open' ? message.tls : undefined;
  };
  /** Sets what belongs to the thread, until the test ends. */
  const set = (settings: object) => {
    const before = Object.fromEntries(
      Object.keys(settings).map((name) => [name, tls[name as keyof typeof tls]]),
    );
    Object.assign(tls, settings);
    onTestFinished(() => void Object.assign(tls, before));
  };

  it('went by settings of their own: those of this thread count, whoever has made them', () => {
    set({
      DEFAULT_MIN_VERSION: 'TLSv1.3',
      DEFAULT_CIPHERS: 'TLS_AES_128_GCM_SHA256',
      DEFAULT_ECDH_CURVE: 'X25519',
    });
    set({ getCACertificates: () => ['an authority'], setDefaultCACertificates: () => undefined });
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(opened({ servername: 'zk1' })).toEqual({
      ...{ servername: 'zk1', minVersion: 'TLSv1.3', maxVersion: tls.DEFAULT_MAX_VERSION },
      ...{ ciphers: 'TLS_AES_128_GCM_SHA256', ecdhCurve: 'X25519', ca: ['an authority'] },
      rejectUnauthorized: false,
    });
  });

  it('go by the options of the session before those', () => {
    set({ DEFAULT_MIN_VERSION: 'TLSv1.3' });
    const options = {
      minVersion: 'TLSv1.2',
      ca: 'another',
      ciphers: 'some',
      rejectUnauthorized: true,
    } as const;
    expect(opened(options)).toMatchObject(options);
    expect(opened({ secureProtocol: 'TLSv1_2_method' })).not.toHaveProperty('minVersion');
  });
});
