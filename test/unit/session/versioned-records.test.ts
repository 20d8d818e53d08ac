import { describe, expect, it } from 'vitest';
import { BadVersionError, NoNodeError, ZooKeeperError } from '../../../src/errors.js';
import type { Session } from '../../../src/session/session.js';
import {
  MOST_PARTS,
  type RecordWrite,
  readEach,
  release,
  type Seen,
  type Sender,
  swap,
  update,
} from '../../../src/session/versioned-records.js';
import { eventAfter } from '../../support/events.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';
import { writeAtItsVersion } from '../../support/servers/write-at-its-version.js';

const textOf = (data: Buffer) => data.toString();

/** Records `/r0`, `/r1` and so on with the text `mine`, as a session of three has written them. */
async function setUp(count = 2) {
  const { clock, server, open } = await startWithTestClock();
  const [session, other] = [await open(), await open()];
  const paths = Array.from({ length: count }, (_, at) => `/r${at}`);
  await clock.advanceUntil(session.create('/own'));
  for (const path of paths) await clock.advanceUntil(session.create(path, { data: Buffer.from('mine') }));
  const read = async () => {
    const seen = await clock.advanceUntil(readEach(session, paths, textOf));
    return seen as Seen<string>[];
  };
  const changesOf = async (text = 'next', more: Partial<RecordWrite> = {}) =>
    (await read()).map(({ version, connection }, at): RecordWrite => {
      return { path: paths[at] as string, data: Buffer.from(text), version, connection, ...more };
    });
  const by: Sender & { isOwn: (data: Buffer) => boolean } = {
    commit: (parts) => session.commit(parts),
    barrier: () => session.retryUntilAnswered(() => session.commit([{ kind: 'check', path: '/own' }])),
    isOwn: (data) => textOf(data) === 'mine',
  };
  const texts = () => paths.map((path) => server.data(path)?.toString());
  const swapped = async (changes: readonly RecordWrite[]) => {
    const outcomes = await clock.advanceUntil(swap(session, changes, by));
    return [...outcomes.values()].map(({ kind }) => kind);
  };
  const released = async (changes: readonly RecordWrite[]) => {
    const outcomes = await clock.advanceUntil(release(session, changes, by));
    return [...outcomes.values()].map(({ kind }) => kind);
  };
  const write = (path: string, text: string) => clock.advanceUntil(other.setData(path, Buffer.from(text)));
  const reconnect = (of: Session = session) =>
    clock.advanceUntil(eventAfter(of, 'resumed', () => server.dropConnections()));
  return {
    clock,
    server,
    open,
    session,
    other,
    paths,
    read,
    changesOf,
    by,
    texts,
    swapped,
    released,
    write,
    reconnect,
  };
}

describe('records that are read', () => {
  it('are so in requests of as many as fit, in their order, with the refusal of each that is missing', async () => {
    const { clock, server, session, paths } = await setUp(MOST_PARTS + 1);
    server.resetCounts();
    const seen = await clock.advanceUntil(readEach(session, ['/missing', ...paths], textOf));
    expect(server.count('multiRead')).toBe(2);
    expect(seen[0]).toBeInstanceOf(NoNodeError);
    expect(seen.at(-1)).toMatchObject({ value: 'mine', version: 0, connection: session.connectionNumber });
  });
});

describe('a write of records', () => {
  it('says of each with which version and in which transaction it was written', async () => {
    const { clock, session, changesOf, by, read, texts } = await setUp();
    const outcomes = await clock.advanceUntil(swap(session, await changesOf(), by));
    const seen = await read();
    expect(texts()).toEqual(['next', 'next']);
    expect([...outcomes.values()]).toEqual(
      seen.map(({ version, zxid, connection }) => ({ kind: 'written', version, zxid, connection })),
    );
  });

  it('leaves out those that were written since, and those whose other parts are refused', async () => {
    const { changesOf, write, swapped, texts, paths } = await setUp(4);
    const changes = await changesOf();
    await write(paths[1] as string, 'theirs');
    changes[2] = { ...(changes[2] as RecordWrite), parts: [{ kind: 'check', path: '/missing' }] };
    expect(await swapped(changes)).toEqual(['written', 'stale', 'stale', 'written']);
    expect(texts()).toEqual(['next', 'theirs', 'mine', 'next']);
  });

  it('says which of them a server refuses for another reason', async () => {
    const { server, changesOf, swapped, texts, paths } = await setUp();
    const changes = await changesOf();
    server.failWith('NO_AUTH', { operation: 'multi', path: paths[1], times: 1 });
    expect(await swapped(changes)).toContain('refused');
    expect(texts()[1]).toBe('mine');
  });

  it('is not sent over another connection than the one that has shown the record', async () => {
    const { server, changesOf, reconnect, swapped, texts } = await setUp();
    const changes = await changesOf();
    await reconnect();
    server.resetCounts();
    expect(await swapped(changes)).toEqual(['stale', 'stale']);
    expect(server.count('multi')).toBe(0);
    expect(texts()).toEqual(['mine', 'mine']);
  });

  it('whose reply is lost says so behind a barrier: by then a read shows what came of it', async () => {
    const { server, changesOf, swapped, texts } = await setUp();
    const changes = await changesOf();
    server.swallowReply('multi', { times: 1 });
    server.resetCounts();
    expect(await swapped(changes)).toEqual(['unsure', 'unsure']);
    expect(server.count('multi')).toBe(2);
    expect(texts()).toEqual(['next', 'next']);
  });

  it('that the servers refuse because of a part of its sender is refused as a whole', async () => {
    const { clock, session, changesOf, by } = await setUp();
    const commit: Sender['commit'] = (parts) =>
      session.commit([{ kind: 'check', path: '/missing' }, ...parts]);
    const outcomes = await clock.advanceUntil(swap(session, await changesOf(), { ...by, commit }));
    for (const outcome of outcomes.values())
      expect(outcome).toMatchObject({ kind: 'refused', error: { path: '/missing' } });
  });
});

describe('a release of records', () => {
  it('is one write where nothing has happened since they were claimed', async () => {
    const { server, changesOf, released, texts } = await setUp();
    const changes = await changesOf('vacant');
    server.resetCounts();
    expect(await released(changes)).toEqual(['written', 'written']);
    expect([server.count('multi'), server.count('multiRead')]).toEqual([1, 0]);
    expect(texts()).toEqual(['vacant', 'vacant']);
  });

  it('over another connection is sent behind a read, and leaves alone what is not as it was claimed', async () => {
    const { changesOf, write, reconnect, released, texts, paths } = await setUp();
    const changes = await changesOf('vacant');
    await write(paths[1] as string, 'theirs');
    await reconnect();
    expect((await released(changes)).sort()).toEqual(['stale', 'written']);
    expect(texts()).toEqual(['vacant', 'theirs']);
  });

  it('leaves a record alone that has the version of the claim by the write of another, as in a restored backup', async () => {
    const { clock, server, other, changesOf, reconnect, released, texts, paths } = await setUp(1);
    const changes = await changesOf('vacant');
    await clock.advanceUntil(writeAtItsVersion(server, other, paths[0] as string, Buffer.from('theirs')));
    await reconnect();
    expect(await released(changes)).toEqual(['stale']);
    expect(texts()).toEqual(['theirs']);
  });

  it('whose reply is lost is sent once more only if it was not carried out', async () => {
    const { server, changesOf, released, texts } = await setUp();
    const changes = await changesOf('vacant');
    server.swallowReply('multi', { times: 1 });
    server.resetCounts();
    expect(await released(changes)).toEqual(['stale', 'stale']);
    expect(texts()).toEqual(['vacant', 'vacant']);
    expect(
      server.requests.filter(({ operation, paths }) => operation === 'multi' && paths.length > 1),
    ).toHaveLength(1);
  });

  it('goes on until the servers have answered', async () => {
    const { clock, server, session, changesOf, by, texts } = await setUp();
    const changes = await changesOf('vacant');
    server.refuse();
    server.dropConnections();
    const releasing = release(session, changes, by);
    await clock.advance(3000);
    expect(texts()).toEqual(['mine', 'mine']);
    server.admit();
    const outcomes = await clock.advanceUntil(releasing);
    expect([...outcomes.values()].map(({ kind }) => kind)).toEqual(['written', 'written']);
  });

  it('ends when the barrier is refused: the process that gives them back is no longer there', async () => {
    const { clock, session, changesOf, by, reconnect, texts } = await setUp();
    const changes = await changesOf('vacant');
    await clock.advanceUntil(session.remove('/own'));
    await reconnect();
    const releasing = release(session, changes, by);
    await expect(clock.advanceUntil(releasing)).rejects.toBeInstanceOf(NoNodeError);
    expect(texts()).toEqual(['mine', 'mine']);
  });
});

describe('a change of a record that nobody holds', () => {
  const append = async (found: { data: Buffer } | undefined) => Buffer.from(`${found?.data ?? ''}+`);

  it('makes the record if there is none, and is made again if another client was faster', async () => {
    const { clock, session, other, server } = await setUp();
    expect(await clock.advanceUntil(update(session, '/pins', append))).toMatchObject({ version: 0 });
    let rivals = 1;
    const late = async (found: { data: Buffer } | undefined) => {
      if (rivals-- > 0) await other.setData('/pins', Buffer.from('theirs'));
      return append(found);
    };
    const written = await clock.advanceUntil(update(session, '/pins', late));
    expect(written).toEqual({ data: Buffer.from('theirs+'), version: 2 });
    expect(server.data('/pins')?.toString()).toBe('theirs+');
  });

  it('writes nothing where nothing is to be changed, and passes a refusal on', async () => {
    const { clock, session, server } = await setUp();
    server.resetCounts();
    const found = await clock.advanceUntil(update(session, '/r0', () => Promise.resolve(undefined)));
    expect(found).toEqual({ data: Buffer.from('mine'), version: 0 });
    expect(server.count('setData')).toBe(0);
    server.failWith('NO_AUTH', { operation: 'setData', times: 1 });
    const refused = update(session, '/r0', append);
    const error = await clock.advanceUntil(refused).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ZooKeeperError);
    expect(error).not.toBeInstanceOf(BadVersionError);
  });
});
