/** Requests that are larger than what the servers take: `jute.maxbuffer`. They end the connection, and say nothing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConnectionLossError, InvalidOptionError, RequestTooLargeError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { MultiLock } from '../../src/lock/multi-lock/multi-lock.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { HERE } from '../../tools/zookeeper/server.mjs';
import { lead } from '../support/conclave/electors.js';
import { openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { recordEvents } from '../support/events.js';

const HALF = Buffer.alloc(600_000);
const TOO_LARGE =
  /^transaction is "12\d{5} bytes long": expected at most 1048575 bytes, .*\(jute\.maxbuffer\)/;

describe('a transaction that is larger than what servers take', () => {
  it('is refused before it is sent, and the session keeps its connection', async () => {
    const session = await openSession();
    const events = recordEvents(session, 'suspended');
    const path = uniquePath();
    const parts = ['a', 'b'].map((name) => ({ kind: 'create', path: path + name, data: HALF }) as const);
    await expect(session.commit(parts)).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(session.commit(parts)).rejects.toThrow(TOO_LARGE);
    expect(await session.exists(`${path}a`)).toBeUndefined();
    expect(events).toEqual([]);
  });

  it('is refused to a leader, which keeps its term', async () => {
    const session = await openSession();
    const [, term] = await lead(session, uniquePath('election'));
    const path = uniquePath();
    const committing = term.transaction().create(`${path}a`, HALF).create(`${path}b`, HALF).commit();
    await expect(committing).rejects.toThrow(TOO_LARGE);
    expect(term.isHeld()).toBe(true);
    expect(session.state.name).toBe('connected');
  });

  it('is refused to the holder of a lock, and of several', async () => {
    const session = await openSession();
    const [one, two] = [
      new DistributedLock(session, uniquePath()),
      new DistributedLock(session, uniquePath()),
    ];
    const path = uniquePath();
    for (const hold of [await one.acquire(), await new MultiLock([two]).acquire()]) {
      const committing = hold.transaction().create(`${path}a`, HALF).create(`${path}b`, HALF).commit();
      await expect(committing).rejects.toThrow(TOO_LARGE);
      await hold.release();
    }
  });

  it('is sent if it is just as large as servers take', async () => {
    const { session, path } = await openWithPath();
    const parts = (bytes: number) => [
      { kind: 'create', path, data: HALF } as const,
      { kind: 'set', path, data: Buffer.alloc(bytes) } as const,
    ];
    let most = 0;
    // The limit by the error, and not by a formula of this test.
    await session.commit(parts(1_000_000)).catch(({ value }: InvalidOptionError) => {
      most = 1_000_000 - (Number.parseInt(String(value), 10) - 1_048_575);
    });
    await expect(session.commit(parts(most + 1))).rejects.toThrow('1048576 bytes long');
    await session.commit(parts(most));
    expect((await session.getData(path)).data).toHaveLength(most);
  });

  it('is refused as a single node with a very long access list, too', async () => {
    const session = await openSession();
    const entry = { scheme: 'ip', id: '10.0.0.1', permissions: 1 };
    const access = Array.from({ length: 60_000 }, () => entry);
    const creating = session.create(uniquePath(), { access });
    await expect(creating).rejects.toThrow(/^create is "1\d{6} bytes long"/);
  });
});

describe('servers with a smaller jute.maxbuffer', () => {
  const LIMIT = 60_000;
  let servers: Awaited<ReturnType<typeof startZooKeeper>>;

  beforeAll(async () => {
    const env = { JAVA_TOOL_OPTIONS: `-Djute.maxbuffer=${LIMIT}` };
    servers = await startZooKeeper({ machines: [{ ...HERE, env }], settings: { maxClientCnxns: 0 } });
  });

  afterAll(() => servers.stop());

  it('end createIfMissing after a few lost connections, with an error that names jute.maxbuffer', async () => {
    const session = await openSession({}, servers.connectString);
    const events = recordEvents(session, 'suspended');
    const path = uniquePath();
    const creating = session.createIfMissing(path, { data: Buffer.alloc(LIMIT) });
    await expect(creating).rejects.toBeInstanceOf(RequestTooLargeError);
    await expect(creating).rejects.toThrow(
      /^a request of 60\d{3} bytes was lost 5 times, .* jute\.maxbuffer /,
    );
    await expect(creating).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE', retryable: false, losses: 5 });
    expect(events).toHaveLength(5);
    await session.createIfMissing(path, { data: Buffer.alloc(LIMIT - 1000) });
    expect((await session.getData(path)).data).toHaveLength(LIMIT - 1000);
  });

  it('end the call of a lock whose node is too large after a few lost connections, and leave no node', async () => {
    const session = await openSession({}, servers.connectString);
    const path = uniquePath();
    await session.create(path);
    const access = Array.from({ length: 4000 }, () => ({ scheme: 'ip', id: '10.0.0.1', permissions: 1 }));
    const events = recordEvents(session, 'suspended');
    const acquiring = new DistributedLock(session, path, { access }).acquire();
    await expect(acquiring).rejects.toMatchObject({ code: 'REQUEST_TOO_LARGE', losses: 5 });
    expect(events).toHaveLength(5);
    expect(await session.getChildren(path)).toEqual([]);
    await new DistributedLock(session, path).using(() => undefined);
  });

  it('are told of by the size of the request that was lost, and not by that of the smaller ones beside it', async () => {
    const session = await openSession({}, servers.connectString);
    const asked = [
      session.create(uniquePath(), { data: Buffer.alloc(LIMIT) }),
      session.setData('/', Buffer.alloc(10)),
    ];
    const [large, small] = await Promise.allSettled(asked);
    expect(large).toMatchObject({ reason: { requestBytes: expect.any(Number) } });
    expect((large as PromiseRejectedResult).reason).toBeInstanceOf(ConnectionLossError);
    if (small?.status === 'rejected') expect(small.reason).toMatchObject({ requestBytes: undefined });
  });
});
