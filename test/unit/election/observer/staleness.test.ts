import { describe, expect, it, vi } from 'vitest';
import { onStale } from '../../../../src/election/observer/staleness.js';
import { SafeEmitter } from '../../../../src/platform/safe-emitter.js';
import type { Session } from '../../../../src/session/session.js';
import { FakeClock } from '../../../helpers/fake-clock.js';

/** As much of a session as matters here. */
class FakeSession extends SafeEmitter<{ suspended(): void; resumed(): void }> {
  readonly clock = new FakeClock();
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
  const heard: string[] = [];
  const takeBack = onStale(
    session as unknown as Session,
    () => void heard.push('silent'),
    () => void heard.push('heard'),
  );
  return { heard, takeBack };
}

describe('the silence of a session', () => {
  it('is told after a session timeout without a server, and when it ends', async () => {
    const session = new FakeSession();
    const { heard } = listen(session);
    session.become('suspended');
    await session.clock.advance(999);
    expect(heard).toEqual([]);
    await session.clock.advance(1);
    expect(heard).toEqual(['silent']);
    session.become('resumed');
    expect(heard).toEqual(['silent', 'heard']);
  });

  it('is none when a server serves it again before', async () => {
    const session = new FakeSession();
    const { heard } = listen(session);
    session.become('suspended');
    await session.clock.advance(999);
    session.become('resumed');
    await session.clock.advance(5000);
    expect(heard).toEqual(['heard']);
  });

  it('is noticed too when the session had no server to begin with', async () => {
    const session = new FakeSession();
    session.become('suspended');
    const { heard } = listen(session);
    await session.clock.advance(1000);
    expect(heard).toEqual(['silent']);
  });

  it('is told to nobody any more when that is taken back', async () => {
    const session = new FakeSession();
    const { heard, takeBack } = listen(session);
    session.become('suspended');
    takeBack();
    await session.clock.advance(5000);
    session.become('resumed');
    expect(heard).toEqual([]);
    expect(session.clock.running).toBe(0);
  });

  it('is watched for no more once that is taken back, whether it ever came or not', () => {
    const session = new FakeSession();
    const { heard, takeBack } = listen(session);
    takeBack();
    session.become('suspended');
    expect(session.clock.running).toBe(0);
    session.become('resumed');
    expect(heard).toEqual([]);
  });

  it('may end without having begun, as far as whoever listens could see', () => {
    const session = new FakeSession();
    const { heard } = listen(session);
    session.become('resumed');
    expect(heard).toEqual(['heard']);
  });

  it('keeps no process alive to wait for it', () => {
    const session = new FakeSession();
    const after = vi.spyOn(session.clock, 'after');
    listen(session);
    session.become('suspended');
    expect(after).toHaveBeenCalledExactlyOnceWith(1000, expect.any(Function), { background: true });
  });
});
