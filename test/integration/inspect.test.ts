import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  DistributedLock,
  ElectionObserver,
  ElectionSupervisor,
  MultiLock,
  ReadWriteLock,
  Semaphore,
} from '../../src/index.js';
import { lead } from '../support/conclave/electors.js';
import { recordingLogger } from '../support/recording-logger.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';

async function world() {
  const { clock, server, open } = await startWithTestClock();
  return { clock, server, session: await open() };
}

const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

describe('what is printed, and written as JSON,', () => {
  it('of a term says whether it is held, and the token', async () => {
    const { clock, session } = await world();
    const [elector, term] = await lead(session, '/elections/one', { id: 'me' });
    expect(plain(term)).toEqual({ number: 1, token: String(term.token), held: true });
    expect(inspect(term)).toBe(`Term { number: 1, token: ${term.token}n, held: true }`);
    expect(inspect({ deep: { down: { in: term } } })).toContain('[Term]');
    expect(plain({ elector })).toEqual({
      elector: { id: 'me', path: '/elections/one', state: 'leading', term: plain(term) },
    });
    // Printing a term doesn't ask its lease: it doesn't end the term, and reports no end.
    clock.jump(60_000);
    expect(plain(term)).toMatchObject({ held: false });
    expect(inspect(term)).toContain('held: false');
    expect(term.signal.aborted).toBe(false);
    expect(term.isHeld()).toBe(false);
    expect(plain(elector.state)).toMatchObject({ name: 'ending', term: { held: false } });
    await clock.advanceUntil(elector.stop());
    expect(plain(elector)).toEqual({ id: 'me', path: '/elections/one', state: 'stopped' });
  });

  it('of a hold says whether it is held, and the token', async () => {
    const { clock, session } = await world();
    const lock = new DistributedLock(session, '/locks/one');
    const hold = await lock.acquire();
    const { path, token } = hold;
    expect(plain(hold)).toEqual({ path, token: String(token), held: true });
    expect(inspect(hold, { breakLength: Number.POSITIVE_INFINITY })).toBe(
      `LockHold { path: '${path}', token: ${token}n, held: true }`,
    );
    await clock.advanceUntil(hold.release());
    expect(plain(hold)).toMatchObject({ held: false });
    const both = await new MultiLock([lock, new DistributedLock(session, '/locks/two')]).acquire();
    expect(plain(both)).toMatchObject({
      token: String(both.token),
      held: true,
      holds: [{ held: true }, { held: true }],
    });
    await clock.advanceUntil(both.release());
    expect(plain(both)).toMatchObject({ held: false, holds: [{ held: false }, { held: false }] });
  });

  it('of a session has neither its id nor its password', async () => {
    const { session } = await world();
    expect(plain(session)).toEqual({ state: 'connected', sessionTimeoutMs: 6000, leaseMs: 2000 });
    const printed = inspect(session, { depth: 10, showHidden: true });
    expect(printed).toBe("Session { state: 'connected', sessionTimeoutMs: 6000, leaseMs: 2000 }");
    const { id } = session.credentials;
    expect(id).not.toBe(0n);
    const reply = await session.create('/one', { data: Buffer.from('x') });
    expect(plain(reply)).toEqual({ value: '/one', zxid: String(reply.zxid), sentAt: reply.sentAt });
    const { path } = await new DistributedLock(session, '/locks/one').acquire();
    const { stat } = await session.getData(path);
    expect(stat.ephemeralOwner).toBe(id);
    expect(plain(stat)).toMatchObject({
      czxid: String(stat.czxid),
      mzxid: String(stat.mzxid),
      ephemeral: true,
    });
    expect(JSON.stringify(stat)).not.toContain(String(id));
    expect(plain((await session.getData('/one')).stat)).toMatchObject({ ephemeral: false, numChildren: 0 });
  });

  it('of all else there is says which one it is', async () => {
    const { clock, server, session } = await world();
    const [embedded] = server.sessions();
    const path = '/some';
    const connect = server.connectString;
    const supervisor = new ElectionSupervisor({
      connect,
      path,
      id: 'me',
      session: { environment: clock.environment },
    });
    const shown: [unknown, object, string][] = [
      [supervisor, { id: 'me', path }, 'ElectionSupervisor'],
      [new ElectionObserver(session, path), { path }, 'ElectionObserver'],
      [new DistributedLock(session, path), { path }, 'DistributedLock'],
      [new Semaphore(session, path, 3), { path }, 'Semaphore'],
      [new ReadWriteLock(session, path), { path }, 'ReadWriteLock'],
      [new MultiLock([new DistributedLock(session, path)]), { locks: [{ path }] }, 'MultiLock'],
      [embedded, { id: String(embedded?.id), isAlive: true }, 'EmbeddedSession'],
      [clock, { nowMs: 0 }, 'TestClock'],
    ];
    for (const [value, json, name] of shown) {
      expect(plain(value)).toMatchObject(json);
      expect(inspect(value)).toMatch(new RegExp(`^${name} \\{`));
    }
    await supervisor.stop();
  });

  it('of an end in the log is the reason as it is, not quoted once more', async () => {
    const { clock, session } = await world();
    const { lines, logger } = recordingLogger();
    const [elector, { token }] = await lead(session, '/elections/one', { logger });
    elector.on('demoted', () => {
      throw 'a string';
    });
    await clock.advanceUntil(elector.stop());
    const fields = { election: '/elections/one', id: elector.id };
    expect(lines).toContainEqual(
      expect.objectContaining({ ...fields, term: 1, token: String(token), reason: 'stopped' }),
    );
    const message = "a listener of 'demoted' failed: a string";
    const err = expect.objectContaining({ message, code: 'LISTENER_FAILED' });
    expect(lines).toContainEqual({ ...fields, err, level: 'error', message: expect.any(String) });
  });
});
