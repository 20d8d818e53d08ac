import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { candidateUuid } from '../../../src/election/candidates/candidate-uuid.js';
import { LeaderMonitor } from '../../../src/election/leader-monitor.js';
import { serializeRecord } from '../../../src/election/record/election-record.js';
import { MISSING } from '../../../src/lease/failure-detector.js';
import { LazyAbortController } from '../../../src/platform/async/lazy-abort-controller.js';
import { joinWithHeartbeats } from '../../../src/queue/join-queue.js';
import { heartbeatNodeOf } from '../../../src/queue/names-and-order.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';

const PATH = '/election';
const TIMES = { sessionTimeoutMs: 10_000, leaseMs: 2000 };
const POLL_MS = 500;

/** A candidate that follows the record of another session's node. */
async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const [holder, session] = [await open(TIMES), await open(TIMES)];
  const join = () => ({ id: randomUUID() });
  const { entry, node } = await clock.advanceUntil(joinWithHeartbeats(holder, PATH, join()));
  const contender = await clock.advanceUntil(joinWithHeartbeats(session, PATH, join()));
  const write = (term: number) => {
    const held = serializeRecord({ state: 'held', term, node: entry.node, leaseMs: TIMES.leaseMs });
    return clock.advanceUntil(holder.setData(PATH, held));
  };
  await write(1);
  const failures: unknown[] = [];
  const leases: number[] = [];
  const host = {
    contender,
    hadPlace: false,
    holderLives: () => undefined,
    noteLease: (leaseMs: number) => void leases.push(leaseMs),
    changed: () => undefined,
    failed: (reason: unknown) => void failures.push(reason),
  };
  const followed = new LeaderMonitor(host);
  onTestFinished(() => followed.stop());
  const look = () => clock.advanceUntil(followed.look(new LazyAbortController()));
  await look();
  const sign = () => followed.known.holder;
  return { clock, server, holder, session, node, entry, followed, look, sign, write, failures, leases };
}

it('a record that is no longer followed takes no answer of a read that was under way: the candidate would follow again', async () => {
  const { clock, session, followed } = await setUp();
  const answers: unknown[] = [];
  const read = followed.readOfRecord((seen) => answers.push(seen));
  const node = await clock.advanceUntil(session.getData(PATH));
  read.answered(node);
  expect(answers).toHaveLength(1);
  const late = followed.readOfRecord((seen) => answers.push(seen));
  followed.stop();
  late.answered(node);
  expect(answers).toHaveLength(1);
});

it('the time of a record is that of the read that has shown it, if no event came before', async () => {
  const { clock, session, followed, write } = await setUp();
  await write(2);
  await clock.advance(5000);
  const read = followed.readOfRecord();
  read.answered(await clock.advanceUntil(session.getData(PATH)));
  expect(followed.known.record?.value).toMatchObject({ term: 2 });
  expect(clock.now() - followed.changedAt).toBeLessThan(1000);
});

describe('the record that a candidate knows', () => {
  it('is no longer known over another connection than the one that has shown it', async () => {
    const { clock, server, session, followed, look } = await setUp();
    expect(followed.known.record).toBeDefined();
    for (const each of server.sessions()) each.dropConnection();
    await clock.advanceUntil(() => session.connectionNumber === undefined);
    expect(followed.known.record).toBeUndefined();
    await clock.advanceUntil(session.retryUntilAnswered(() => session.exists(PATH)));
    expect(followed.known.record).toBeUndefined();
    await look();
    expect(followed.known.record?.connection).toBe(session.connectionNumber);
  });

  it('lets it look for the leases of all candidates if it can not be read', async () => {
    const { clock, holder, session, followed, leases } = await setUp();
    const id = candidateUuid('01234567-89ab-4def-8123-456789abcdef', 0, 7000);
    await clock.advanceUntil(joinWithHeartbeats(holder, PATH, { id }));
    await clock.advanceUntil(holder.setData(PATH, Buffer.from('mine')));
    expect(Math.max(...leases)).toBe(TIMES.leaseMs);
    const read = followed.readOfRecord();
    read.answered(await clock.advanceUntil(session.getData(PATH)));
    expect(followed.known.record).toBeUndefined(); // The look that comes next lists the queue.
    await clock.advanceUntil(followed.look(new LazyAbortController()));
    expect(Math.max(...leases)).toBeGreaterThanOrEqual(7000);
  });
});

describe('what a candidate knows of a silent holder', () => {
  it('begins with the first read of its heartbeat node, and with each of its heartbeats again', async () => {
    const { clock, node, followed, sign } = await setUp();
    expect(sign().name).toBe('unseen');
    followed.follow(true);
    await clock.advanceUntil(() => sign().name === 'beating');
    const first = sign();
    await clock.advance(4 * POLL_MS);
    expect(sign()).toMatchObject({ version: 0, since: 'since' in first && first.since });
    await clock.advanceUntil(node.renew());
    await clock.advance(2 * POLL_MS);
    expect(sign()).toMatchObject({ version: 1 });
    expect(sign()).not.toMatchObject({ since: 'since' in first && first.since });
  });

  it('counts on while the record is read again, from the same read on', async () => {
    const { clock, followed, look, sign } = await setUp();
    followed.follow(true);
    await clock.advanceUntil(() => sign().name === 'beating');
    const before = sign();
    await clock.advance(100);
    followed.mayHaveChanged();
    expect(followed.known.record).toBeUndefined();
    await look();
    expect(sign()).toEqual(before);
  });

  it('is nothing again when another transaction has written the record', async () => {
    const { clock, followed, look, sign, write } = await setUp();
    followed.follow(true);
    await clock.advanceUntil(() => sign().name === 'beating');
    followed.unfollow();
    await write(2);
    followed.mayHaveChanged();
    await look();
    expect(sign().name).toBe('unseen');
  });

  it('is read again over another connection, with the record', async () => {
    const { clock, server, session, followed, sign } = await setUp();
    followed.follow(true);
    await clock.advanceUntil(() => sign().name === 'beating');
    const { connectionNumber } = session;
    for (const each of server.sessions()) each.dropConnection();
    await clock.advanceUntil(
      () => session.connectionNumber !== undefined && session.connectionNumber !== connectionNumber,
    );
    await clock.advance(3 * POLL_MS);
    const { connectionNumber: connection } = session;
    expect([followed.known.record?.connection, sign()]).toMatchObject([connection, { connection }]);
  });

  it('counts where its heartbeat node was deleted: no proof can follow', async () => {
    const { clock, holder, entry, followed, sign } = await setUp();
    followed.follow(true);
    await clock.advanceUntil(holder.remove(`${PATH}/${heartbeatNodeOf(entry.node)}`));
    await clock.advanceUntil(() => {
      const found = sign();
      return found.name === 'beating' && found.version === MISSING;
    });
  });

  it('counts from when its own node was seen to be gone, if the candidate is the first in the queue', async () => {
    const { clock, holder, entry, followed, look, sign, failures } = await setUp();
    followed.watchHolder();
    await clock.advanceUntil(() => followed.isHolderThere);
    await clock.advanceUntil(holder.remove(`${PATH}/${entry.node}`));
    await clock.advanceUntil(() => sign().name === 'gone');
    expect(sign()).toEqual({ name: 'gone', since: clock.now() });
    expect(followed.known.record).toBeUndefined(); // It may have been released.
    const before = sign();
    await clock.advance(100);
    await look();
    expect([sign(), failures]).toEqual([before, []]);
  });

  it('does not count the end of its own node over a connection that has not shown the record', async () => {
    const { clock, server, session, holder, entry, followed, look, sign } = await setUp();
    followed.watchHolder();
    await clock.advanceUntil(() => followed.isHolderThere);
    server.refuse();
    for (const each of server.sessions()) if (each.id === session.credentials.id) each.dropConnection();
    await clock.advanceUntil(() => session.connectionNumber === undefined);
    await clock.advanceUntil(holder.remove(`${PATH}/${entry.node}`));
    server.admit();
    await clock.advanceUntil(() => !followed.isHolderThere);
    expect(sign().name).toBe('unseen');
    await look();
    followed.watchHolder();
    await clock.advanceUntil(() => sign().name === 'gone');
  });

  it('counts the end of its own node anew over another connection: in a restored backup it may be back', async () => {
    const { clock, server, session, holder, entry, followed, look, sign } = await setUp();
    followed.watchHolder();
    await clock.advanceUntil(() => followed.isHolderThere);
    await clock.advanceUntil(holder.remove(`${PATH}/${entry.node}`));
    await clock.advanceUntil(() => sign().name === 'gone');
    await look();
    for (const each of server.sessions()) each.dropConnection();
    await clock.advanceUntil(session.retryUntilAnswered(() => session.exists(PATH)));
    followed.mayHaveChanged();
    await look();
    expect(sign().name).toBe('unseen');
    followed.watchHolder();
    await clock.advanceUntil(() => sign().name === 'gone');
  });

  it('reads the node of its holder again, behind the record, over another connection', async () => {
    const { clock, server, session, followed, look } = await setUp();
    followed.watchHolder();
    await clock.advanceUntil(() => followed.isHolderThere);
    for (const each of server.sessions()) each.dropConnection();
    await clock.advanceUntil(session.retryUntilAnswered(() => session.exists(PATH)));
    followed.mayHaveChanged();
    await look();
    expect(followed.isHolderThere).toBe(false);
    followed.watchHolder();
    await clock.advanceUntil(() => followed.isHolderThere);
  });

  it('has to be read again over another connection before a claim', async () => {
    const { clock, server, session, followed, look, sign } = await setUp();
    followed.follow(true);
    await clock.advanceUntil(() => sign().name === 'beating');
    followed.unfollow();
    const before = sign();
    for (const each of server.sessions()) each.dropConnection();
    await clock.advanceUntil(session.retryUntilAnswered(() => session.exists(PATH)));
    await look();
    expect(sign()).toEqual({ ...before, readAt: Number.NEGATIVE_INFINITY });
  });

  it('counts from the first read of a record that can not be read', async () => {
    const { clock, holder, followed, look, sign } = await setUp();
    await clock.advanceUntil(holder.setData(PATH, Buffer.from('mine')));
    followed.mayHaveChanged();
    await look();
    const first = sign();
    expect(first).toEqual({ name: 'gone', since: clock.now() });
    await clock.advance(100);
    followed.mayHaveChanged();
    await look();
    expect(sign()).toEqual(first);
  });
});
