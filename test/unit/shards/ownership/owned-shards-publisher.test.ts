import { describe, expect, it, vi } from 'vitest';
import {
  BadVersionError,
  ConnectionLossError,
  NodeLostError,
  RequestTooLargeError,
  ZooKeeperError,
} from '../../../../src/errors.js';
import { LazyAbortController } from '../../../../src/platform/async/lazy-abort-controller.js';
import { OwnedShardsPublisher } from '../../../../src/shards/ownership/owned-shards-publisher.js';
import { parseOwned } from '../../../../src/shards/stored/data-formats.js';
import { sessionAt, startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const PATH = '/owned/member';

/** A publisher, and what it is to publish. */
async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const [session, other] = [await open(), await open()];
  await other.create('/owned');
  await other.create('/record');
  const lost = new LazyAbortController<Error>();
  const errors: unknown[] = [];
  const owned: number[] = [];
  const publisher = new OwnedShardsPublisher({
    ...{ session, lost, path: PATH },
    numbers: () => owned,
    onError: (error) => errors.push(error),
  });
  const own = (...numbers: number[]) => {
    owned.splice(0, owned.length, ...numbers);
    publisher.changed();
  };
  /** It owns them, and what is to be written is written, if a server answers. */
  const ownAndWait = async (...numbers: number[]) => {
    own(...numbers);
    await clock.advance(10);
  };
  /** What observers read. */
  const published = () => {
    const data = server.data(PATH);
    return data && parseOwned(data);
  };
  /** A claim or release, which changes what is owned when it is carried out. */
  const commit = async (numbers: number[], version?: number) => {
    const record = {
      kind: 'set',
      path: '/record',
      data: Buffer.alloc(0),
      ...(version !== undefined && { version }),
    } as const;
    const committed = await publisher.accompany(numbers, (parts) => session.commit([record, ...parts]));
    own(...numbers);
    return committed.value.length;
  };
  const writes = () => ['create', 'setData', 'multi'].map((kind) => server.count(kind as 'create'));
  server.resetCounts();
  return {
    clock,
    server,
    session,
    other,
    lost,
    errors,
    publisher,
    own,
    ownAndWait,
    published,
    commit,
    writes,
  };
}

describe('what a member publishes of what it owns', () => {
  it('is given up, and reported, when five connections were lost by its size', async () => {
    const { clock, session, own, errors, published } = await setUp();
    const loss = new ConnectionLossError('the server ended the connection', { requestBytes: 2000 });
    const refused = [session, session].map((each, at) => vi.spyOn(each, at === 0 ? 'create' : 'setData'));
    for (const each of refused) each.mockRejectedValue(loss);
    own(1);
    await clock.advance(60_000);
    expect(errors).toEqual([expect.any(RequestTooLargeError)]);
    expect(refused.map(({ mock }) => mock.calls.length)).toEqual([1, 4]);
    for (const each of refused) each.mockRestore();
    own(1, 2);
    await clock.advance(1000);
    expect(published()).toEqual([1, 2]);
  });

  it('is a node of its own from when it owns something, which then says also that it owns nothing', async () => {
    const { clock, server, session, own, ownAndWait, published } = await setUp();
    own();
    await clock.advance(1000);
    expect(published()).toBeUndefined();
    for (const numbers of [[3], [3, 4], []]) {
      await ownAndWait(...numbers);
      expect(published()).toEqual(numbers);
    }
    await clock.advanceUntil(session.close());
    expect(server.paths('/owned')).toEqual(['/owned']);
  });

  it('takes one write for what comes together, and no more than one at a time', async () => {
    const { clock, server, own, ownAndWait, published, writes } = await setUp();
    for (const number of [1, 2, 3]) own(number);
    await clock.advance(10);
    expect([published(), writes()]).toEqual([[3], [1, 0, 0]]);
    server.delay(100, { only: 'setData' });
    await ownAndWait(4);
    for (const number of [5, 6, 7]) await ownAndWait(number);
    expect(writes()).toEqual([1, 1, 0]);
    await clock.advance(1000);
    expect([published(), writes()]).toEqual([[7], [1, 2, 0]]);
  });

  it('is not written again while it is the same', async () => {
    const { ownAndWait, writes } = await setUp();
    for (let round = 0; round < 3; round++) await ownAndWait(2, 1);
    expect(writes()).toEqual([1, 0, 0]);
  });

  it.each(['create', 'setData'] as const)('is written until it is answered: %s', async (operation) => {
    const { clock, server, own, ownAndWait, published, errors } = await setUp();
    if (operation === 'setData') own(1);
    await clock.advance(10);
    const lostReply = server.swallowReply(operation, { times: 2 });
    await ownAndWait(2);
    own(3);
    await clock.advance(10_000);
    expect(lostReply.hits).toBeGreaterThan(0);
    expect(published()).toEqual([3]);
    expect(errors).toEqual([]);
  });

  it('is reported once while a server refuses it, and written at the next change after that', async () => {
    const { server, ownAndWait, published, errors } = await setUp();
    const refusal = server.failWith('NO_AUTH', { operation: 'create' });
    for (const number of [1, 2]) await ownAndWait(number);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toBeInstanceOf(ZooKeeperError);
    refusal.clear();
    await ownAndWait(3);
    expect(published()).toEqual([3]);
    server.failWith('NO_AUTH', { operation: 'setData' });
    await ownAndWait(4);
    expect(errors).toHaveLength(2);
  });

  it('is made anew at the next change if another client has deleted it', async () => {
    const { other, ownAndWait, published } = await setUp();
    await ownAndWait(1);
    await other.remove(PATH);
    await ownAndWait(2);
    expect(published()).toEqual([2]);
  });

  it('ends with the member’s node, and when that is given up', async () => {
    const { ownAndWait, lost, published, writes, errors } = await setUp();
    await ownAndWait(1);
    lost.abort(new NodeLostError('gone'));
    await ownAndWait(2);
    expect([published(), writes(), errors]).toEqual([[1], [1, 0, 0], []]);
  });

  it('is not repeated after its end', async () => {
    const { clock, server, own, publisher, writes, errors } = await setUp();
    server.swallowReply('create');
    own(1);
    await clock.advance(0);
    publisher.stop();
    await clock.advance(10_000);
    expect([writes(), errors]).toEqual([[1, 0, 0], []]);
  });
});

describe('a publication with a transaction', () => {
  it('takes no write of its own, the first one neither', async () => {
    const { clock, commit, published, writes } = await setUp();
    for (const numbers of [[1], [1, 2], []]) {
      expect(await clock.advanceUntil(commit(numbers))).toBe(2);
      await clock.advance(10);
      expect(published()).toEqual(numbers);
    }
    expect(writes()).toEqual([0, 0, 3]);
  });

  it('is left out while another one is on its way, and follows', async () => {
    const { clock, own, commit, published, writes } = await setUp();
    own(1);
    await new Promise((resolve) => process.nextTick(resolve)); // It goes out.
    expect(await clock.advanceUntil(commit([1, 2]))).toBe(1);
    await clock.advance(10);
    expect([published(), writes()]).toEqual([
      [1, 2],
      [1, 1, 1],
    ]);
  });

  it('is refused with the others, and leaves what was published', async () => {
    const { clock, ownAndWait, commit, published, writes } = await setUp();
    await ownAndWait(1);
    await expect(clock.advanceUntil(commit([1, 2], 7))).rejects.toThrow(BadVersionError);
    await clock.advance(10);
    expect([published(), writes()]).toEqual([[1], [1, 0, 1]]);
    expect(await clock.advanceUntil(commit([1, 2], 0))).toBe(2);
  });

  it('hinders none if it is refused: that is carried out without it', async () => {
    const { clock, other, ownAndWait, commit, published, errors } = await setUp();
    await ownAndWait(1);
    await other.remove(PATH);
    expect(await clock.advanceUntil(commit([1, 2]))).toBe(1);
    await clock.advance(10);
    expect([published(), errors]).toEqual([[1, 2], []]);
  });

  it('is written again if it is not known whether it was carried out', async () => {
    const { clock, server, ownAndWait, commit, published } = await setUp();
    await ownAndWait(1);
    server.swallowReply('multi', { path: PATH });
    await expect(clock.advanceUntil(commit([1, 2]))).rejects.toThrow(ConnectionLossError);
    expect(published()).toEqual([1, 2]);
    await clock.advance(10_000);
    expect(published()).toEqual([1]);
  });

  it('is written also if that never arrived, and what it would have said is right by now', async () => {
    const { clock, server, session, own, ownAndWait, commit, published } = await setUp();
    await ownAndWait(1);
    const atServer = sessionAt(server, session);
    atServer.partition();
    const committing = commit([1, 2]);
    own(1, 2);
    await expect(clock.advanceUntil(committing)).rejects.toThrow(/connection|no reply/);
    atServer.heal();
    await clock.advance(10_000);
    expect(published()).toEqual([1, 2]);
  });

  it('is left out if it is too long for one', async () => {
    const { clock, commit, published } = await setUp();
    const many = Array.from({ length: 20_000 }, (_, number) => 2 * number);
    expect(await clock.advanceUntil(commit(many))).toBe(1);
    await clock.advance(10);
    expect(published()).toEqual(many);
  });
});
