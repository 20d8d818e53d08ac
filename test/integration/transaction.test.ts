import { describe, expect, it } from 'vitest';
import {
  BadVersionError,
  ConnectionLossError,
  InvalidOptionError,
  InvalidStateError,
  LockLostError,
  TermEndedError,
} from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { candidateNodes, lead } from '../support/conclave/electors.js';
import {
  connectString,
  openProxied,
  openSession,
  openWithPath,
  uniquePath,
} from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { until } from '../support/waiting.mjs';

describe("a term's transaction", () => {
  it('writes all its parts while the term lasts', async () => {
    const session = await openSession({}, `${connectString()}${uniquePath('chroot')}`);
    const [, term] = await lead(session, '/election');
    await term.transaction().create('/state', 'one').create('/old').commit();
    await term.transaction().setData('/state', Buffer.from('two'), 0).remove('/old', 0).commit();
    expect((await session.getData('/state')).data.toString()).toBe('two');
    expect(await session.exists('/old')).toBeUndefined();
    await term.transaction().commit(); // Without writes it asks the servers whether the term lasts.
  });

  it('writes nothing if a part is refused, and says which', async () => {
    const { session, path } = await openWithPath('state');
    const [, term] = await lead(session, uniquePath('election'));
    await term.transaction().create(path, 'one').commit();
    const refused = term.transaction().setData(path, 'two').remove(path, 7).commit();
    await expect(refused).rejects.toBeInstanceOf(BadVersionError);
    await expect(refused).rejects.toMatchObject({ path });
    expect((await session.getData(path)).data.toString()).toBe('one');
    expect(term.isHeld()).toBe(true);
  });

  it('of a leader whose node is gone writes nothing, though the leader has not noticed yet', async () => {
    const { session } = await openProxied();
    const { session: other, path } = await openWithPath('election');
    const [, term] = await lead(session, path);
    const state = uniquePath('state');
    // The deletion and the write meet at the server. The leader can't have heard of the deletion when it sent the write.
    const [node] = await candidateNodes(other, path);
    const removal = other.remove(`${path}/${node}`);
    const commit = expect(removal.then(() => term.transaction().create(state).commit())).rejects;
    await commit.toMatchObject({ code: 'TERM_ENDED', reason: 'node-deleted' });
    expect(await other.exists(state)).toBeUndefined();
    expect(term.signal.aborted).toBe(true);
  });

  it('is still carried out for work that settles, and not after that', async () => {
    const { session, path: state } = await openWithPath('state');
    const [elector, term] = await lead(session, uniquePath('election'), {
      lead: async ({ signal, transaction }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await transaction.call(term).create(state, 'the last word').commit();
      },
    });
    await elector.stop();
    expect((await session.getData(state)).data.toString()).toBe('the last word');
    const late = term.transaction().setData(state, 'too late').commit();
    await expect(late).rejects.toBeInstanceOf(TermEndedError);
    await expect(late).rejects.toMatchObject({ reason: 'stopped' });
  });

  it('begins no lease, since it raises no version: no other candidate would see it', async () => {
    const session = await openSession({ sessionTimeoutMs: 20_000, leaseMs: 10_000 });
    const [, term] = await lead(session, uniquePath('election'));
    await until(() => term.remainingMs() < 9950);
    await term.transaction().commit();
    expect(term.remainingMs()).toBeLessThan(9950);
  });

  it('whose reply is lost says so: it may have been carried out', async () => {
    const { proxy, session } = await openProxied();
    const state = uniquePath('state');
    const [, term] = await lead(session, uniquePath('election'));
    const lost = proxy.loseReplyTo('multi', { text: state });
    await expect(term.transaction().create(state).commit()).rejects.toBeInstanceOf(ConnectionLossError);
    await lost;
    expect(await session.retryUntilAnswered(() => session.exists(state))).toBeDefined();
    expect(term.isHeld()).toBe(true);
  });

  it('is committed once, and with what can be sent', async () => {
    const session = await openSession();
    const [, term] = await lead(session, uniquePath('election'));
    const once = term.transaction();
    await once.commit();
    await expect(once.commit()).rejects.toBeInstanceOf(InvalidStateError);
    expect(() => once.remove('/a')).toThrow(InvalidStateError);
    for (const wrong of [
      () => term.transaction().create('a').commit(),
      () => term.transaction().remove('/a', 1.5).commit(),
      () =>
        term
          .transaction()
          .setData('/a', null as never)
          .commit(),
    ]) {
      await expect(wrong()).rejects.toBeInstanceOf(InvalidOptionError);
    }
    expect(term.isHeld()).toBe(true);
  });
});

it("a lock's transaction is carried out while the lock is held, and not when its session has expired", async () => {
  const { proxy, session } = await openProxied({ sessionTimeoutMs: 600 });
  const { session: other, path: state } = await openWithPath('state');
  const hold = await new DistributedLock(session, uniquePath('lock')).acquire();
  await hold.transaction().create(state, 'one').commit();
  const expired = nextEvent(session, 'expired');
  proxy.cut();
  await until(async () => (await other.exists(hold.path)) === undefined);
  proxy.restore();
  await expired;
  await expect(hold.transaction().setData(state, 'two').commit()).rejects.toBeInstanceOf(LockLostError);
  expect((await other.getData(state)).data.toString()).toBe('one');
});
