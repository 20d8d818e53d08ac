import { describe, expect, it, vi } from 'vitest';
import { SafeEmitter } from '../../../../src/platform/safe-emitter.js';
import { onStale } from '../../../../src/session/observation/staleness.js';
import type { Session } from '../../../../src/session/session.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

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

function listen(session: FakeSession) {
  const reported: string[] = [];
  const unsubscribe = onStale(
    session as unknown as Session,
    () => void reported.push('stale'),
    () => void reported.push('resumed'),
  );
  return { reported, unsubscribe };
}

describe('a session without a server', () => {
  it('is reported as stale after a session timeout, and when a server serves it again', async () => {
    const session = new FakeSession();
    const { reported } = listen(session);
    session.become('suspended');
    await session.clock.advance(999);
    expect(reported).toEqual([]);
    await session.clock.advance(1);
    expect(reported).toEqual(['stale']);
    session.become('resumed');
    expect(reported).toEqual(['stale', 'resumed']);
  });

  it('is not stale when a server serves it again before', async () => {
    const session = new FakeSession();
    const { reported } = listen(session);
    session.become('suspended');
    await session.clock.advance(999);
    session.become('resumed');
    await session.clock.advance(5000);
    expect(reported).toEqual(['resumed']);
  });

  it('is reported too when it had no server to begin with', async () => {
    const session = new FakeSession();
    session.become('suspended');
    const { reported } = listen(session);
    await session.clock.advance(1000);
    expect(reported).toEqual(['stale']);
  });

  it('is not reported any more after unsubscribing', async () => {
    const session = new FakeSession();
    const { reported, unsubscribe } = listen(session);
    session.become('suspended');
    unsubscribe();
    await session.clock.advance(5000);
    session.become('resumed');
    expect(reported).toEqual([]);
    expect(session.clock.timerCount).toBe(0);
  });

  it('is not listened to after unsubscribing, whether it was ever suspended or not', () => {
    const session = new FakeSession();
    const { reported, unsubscribe } = listen(session);
    unsubscribe();
    session.become('suspended');
    expect(session.clock.timerCount).toBe(0);
    session.become('resumed');
    expect(reported).toEqual([]);
  });

  it('may be resumed without having been suspended, as far as a listener could see', () => {
    const session = new FakeSession();
    const { reported } = listen(session);
    session.become('resumed');
    expect(reported).toEqual(['resumed']);
  });

  it('keeps no process alive', () => {
    const session = new FakeSession();
    const after = vi.spyOn(session.clock, 'after');
    listen(session);
    session.become('suspended');
    expect(after).toHaveBeenCalledExactlyOnceWith(1000, expect.any(Function), { background: true });
  });
});
