import { describe, expect, it, vi } from 'vitest';
import { InvalidStateError, SessionExpiredError, ZooKeeperError } from '../../../../src/errors.js';
import { type Deferred, deferred } from '../../../../src/platform/async/promises.js';
import { SafeEmitter } from '../../../../src/platform/safe-emitter.js';
import { ObserverLife, onStale } from '../../../../src/session/observers/observer.js';
import type { Session } from '../../../../src/session/session.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { settle } from '../../../support/waiting.mjs';

/** What the life of an observer needs of a session. */
function sessionThatEnds() {
  const controller = new AbortController();
  const { signal } = controller;
  return {
    session: { signal, ended: signal } as unknown as Session,
    end: (reason: unknown) => controller.abort(reason),
  };
}

/** The life of an observer that gets these sessions, and what the observer was told. */
function setUp(...sessions: Session[]) {
  const told: string[] = [];
  const following: Deferred<void>[] = [];
  const last = sessions.at(-1) as Session;
  const close = () => {
    told.push('closed');
    return Promise.resolve();
  };
  const life = new ObserverLife(
    { source: { session: () => Promise.resolve(sessions.shift() ?? last) }, close },
    {
      follow: (_, ended) => {
        const over = deferred();
        ended.addEventListener('abort', () => over.resolve());
        following.push(over);
        return over.promise;
      },
      onBlind: () => told.push('blind'),
      onStopped: () => told.push('stopped'),
      onError: (error) => told.push(String(error)),
    },
  );
  /** The present session has read something. */
  const read = async () => {
    await settle();
    life.hasRead();
  };
  const fail = async (error: Error) => {
    await settle();
    following.at(-1)?.reject(error);
  };
  return { life, told, following, read, fail };
}

describe('the life of an observer', () => {
  it('goes on with the next session, and is over when there is none', async () => {
    const [first, second] = [sessionThatEnds(), sessionThatEnds()];
    const { life, told, following, read } = setUp(first.session, second.session);
    const started = life.start();
    expect(life.start()).toBe(started);
    await read();
    await started;
    first.end(new SessionExpiredError('the first'));
    await settle();
    expect([told.splice(0), following.length]).toEqual([['blind'], 2]);
    second.end(new SessionExpiredError('the second'));
    await settle();
    expect(told).toEqual(['blind', 'stopped', 'closed']);
    await expect(life.start()).rejects.toThrow(InvalidStateError);
  });

  it('has not started before the first read, though a session has ended before that', async () => {
    const [first, second] = [sessionThatEnds(), sessionThatEnds()];
    const { life, told, following, read } = setUp(first.session, second.session);
    let hasStarted = false;
    const started = life.start().then(() => {
      hasStarted = true;
    });
    await settle();
    first.end(new SessionExpiredError('the first'));
    await settle();
    expect([told, following.length, hasStarted]).toEqual([['blind'], 2, false]);
    await read();
    await started;
  });

  it('ends before the first read with what the start rejects with, and reports it nowhere else', async () => {
    const { life, told, fail } = setUp(sessionThatEnds().session);
    const started = life.start();
    const refusal = new ZooKeeperError(-102, 'NO_AUTH', 'getData', '/election');
    await fail(refusal);
    await expect(started).rejects.toBe(refusal);
    await life.stop();
    expect(told).toEqual(['stopped', 'closed']);
  });

  it('reports what ends it after the first read, unless it has been stopped before', async () => {
    const refusal = new ZooKeeperError(-102, 'NO_AUTH', 'getData', '/election');
    const refused = setUp(sessionThatEnds().session);
    void refused.life.start();
    await refused.read();
    await refused.fail(refusal);
    await refused.life.stop();
    expect(refused.told).toEqual([String(refusal), 'stopped', 'closed']);

    const stopped = setUp(sessionThatEnds().session);
    void stopped.life.start();
    await stopped.read();
    stopped.following[0]?.reject(refusal);
    await stopped.life.stop();
    expect(stopped.told).toEqual(['stopped', 'closed']);
  });

  it('is over if it was stopped before it has started', async () => {
    const { life, told, following } = setUp(sessionThatEnds().session);
    await life.stop();
    await expect(life.start()).rejects.toThrow('create a new one');
    expect([told, following]).toEqual([['stopped'], []]);
  });
});

/** The part of a session that these tests use. */
class FakeSession extends SafeEmitter<{ suspended(): void; resumed(): void }> {
  readonly clock = new TestClock();
  readonly sessionTimeoutMs = 1000;
  state = { name: 'connected' };

  become(name: 'suspended' | 'resumed'): void {
    this.state = { name };
    this.emit(name);
  }

  protected override get knownEvents() {
    return { suspended: true, resumed: true };
  }

  protected override reportListenerError(error: Error): void {
    throw error;
  }
}

/** A session, and what is reported of it. @param first - what it becomes before it is listened to */
function listen(first?: 'suspended') {
  const session = new FakeSession();
  if (first !== undefined) session.become(first);
  const reported: string[] = [];
  const unsubscribe = onStale(
    session as unknown as Session,
    () => void reported.push('stale'),
    () => void reported.push('resumed'),
  );
  return { session, reported, unsubscribe };
}

describe('a session without a server', () => {
  it('is reported as stale after a session timeout, and when a server serves it again', async () => {
    const { session, reported } = listen();
    session.become('suspended');
    await session.clock.advance(999);
    expect(reported).toEqual([]);
    await session.clock.advance(1);
    expect(reported).toEqual(['stale']);
    session.become('resumed');
    expect(reported).toEqual(['stale', 'resumed']);
  });

  it('is not stale when a server serves it again before', async () => {
    const { session, reported } = listen();
    session.become('suspended');
    await session.clock.advance(999);
    session.become('resumed');
    await session.clock.advance(5000);
    expect(reported).toEqual(['resumed']);
  });

  it('is reported too when it had no server to begin with', async () => {
    const { session, reported } = listen('suspended');
    await session.clock.advance(1000);
    expect(reported).toEqual(['stale']);
  });

  it.each([undefined, 'suspended'] as const)(
    'is not reported any more after unsubscribing, whether it was suspended or not: %s',
    async (first) => {
      const { session, reported, unsubscribe } = listen(first);
      unsubscribe();
      session.become('suspended');
      await session.clock.advance(5000);
      session.become('resumed');
      expect(reported).toEqual([]);
      expect(session.clock.timerCount).toBe(0);
    },
  );

  it('may be resumed without having been suspended, as far as a listener could see', () => {
    const { session, reported } = listen();
    session.become('resumed');
    expect(reported).toEqual(['resumed']);
  });

  it('keeps no process alive', () => {
    const { session } = listen();
    const after = vi.spyOn(session.clock, 'after');
    session.become('suspended');
    expect(after).toHaveBeenCalledExactlyOnceWith(1000, expect.any(Function), { background: true });
  });
});
