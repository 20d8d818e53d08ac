import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LeaderElector } from '../../../../src/election/leader-elector.js';
import type { Term } from '../../../../src/election/term/term.js';
import { InvalidOptionError, InvalidStateError } from '../../../../src/errors.js';
import { ignore } from '../../../../src/platform/async/promises.js';
import { Session } from '../../../../src/session/session.js';
import { EmbeddedZooKeeper, nextEvent, recordEvents, TestClock } from '../../../../src/testing/index.js';
import { SILENT } from '../../../support/silent-logger.mjs';

/** Starts a server on a clock that only the test moves. */
async function startServer(): Promise<{ clock: TestClock; server: EmbeddedZooKeeper }> {
  const clock = new TestClock();
  const server = await EmbeddedZooKeeper.start({ clock, logger: SILENT });
  onTestFinished(async () => {
    await server.stop();
    expect(clock.timerCount).toBe(0);
  });
  return { clock, server };
}

async function openSession(server: EmbeddedZooKeeper, clock: TestClock): Promise<Session> {
  const { environment } = clock;
  const session = await Session.connect(server.connectString, { sessionTimeoutMs: 6000, environment });
  onTestFinished(() => clock.advanceUntil(session.close()));
  return session;
}

describe('a clock for tests', () => {
  it('only moves when it is advanced, and begins at the given time of day', async () => {
    const clock = new TestClock(new Date('2030-01-01T00:00:00Z'));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(clock.now()).toBe(0);
    await clock.advance(1500);
    expect(clock.now()).toBe(1500);
    expect(clock.date().toISOString()).toBe('2030-01-01T00:00:01.500Z');
  });

  it('runs each timer at its time, in order, also timers that are set meanwhile', async () => {
    const order = fc.array(fc.integer({ min: -5, max: 50 }), { maxLength: 20 });
    const steps = fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(order, steps, async (delays, advances) => {
        const clock = new TestClock();
        const ran: number[] = [];
        const note = () => ran.push(clock.now());
        for (const ms of delays) {
          clock.after(ms, () => {
            note();
            clock.after(7, note);
          });
        }
        for (const ms of advances) await clock.advance(ms);
        const due = delays.flatMap((ms) => [Math.max(0, ms), Math.max(0, ms) + 7]).sort((a, b) => a - b);
        expect(ran).toEqual(due.filter((at) => advances.length > 0 && at <= clock.now()));
      }),
      { numRuns: 30 },
    );
  });

  it('runs no timer that was cleared, and after a jump runs due timers when it is advanced', async () => {
    const clock = new TestClock();
    const ran: string[] = [];
    clock.after(10, () => ran.push('cleared')).clear();
    clock.after(10, () => ran.push(`late, at ${clock.now()}`));
    clock.jump(100);
    expect(ran).toEqual([]);
    await clock.advance(0);
    expect(ran).toEqual(['late, at 100']);
    expect(clock.timerCount).toBe(0);
  });

  it('refuses an invalid time, and to be advanced twice at once', async () => {
    const clock = new TestClock();
    expect(() => new TestClock(new Date(Number.NaN))).toThrow(InvalidOptionError);
    expect(() => new TestClock(0 as unknown as Date)).toThrow('start is 0: expected a date');
    expect(() => clock.jump(-1)).toThrow(InvalidOptionError);
    expect(() => clock.jump(undefined as never)).toThrow(InvalidOptionError);
    await expect(clock.advance(undefined as never)).rejects.toThrow(InvalidOptionError);
    await expect(clock.advance(Number.NaN)).rejects.toThrow(InvalidOptionError);
    const moving = clock.advance(10);
    await expect(clock.advance(1)).rejects.toThrow(InvalidStateError);
    await moving;
    expect(clock.now()).toBe(10);
  });

  it('goes on after a timer that throws', async () => {
    const clock = new TestClock();
    clock.after(5, () => {
      throw new Error('the task failed');
    });
    await expect(clock.advance(10)).rejects.toThrow('the task failed');
    await clock.advance(5);
    expect(clock.now()).toBe(10);
  });

  it('advances until a promise settles or a condition holds, and no further', async () => {
    const clock = new TestClock();
    const sleep = (ms: number) => new Promise<number>((resolve) => clock.after(ms, () => resolve(ms)));
    clock.after(1000, ignore);
    expect(await clock.advanceUntil(sleep(300))).toBe(300);
    expect(clock.now()).toBe(300);
    let done = 0;
    for (const ms of [10, 20, 30]) clock.after(ms, () => done++);
    expect(await clock.advanceUntil(() => done >= 2 && 'two')).toBe('two');
    expect(clock.now()).toBe(320);
    expect(await clock.advanceUntil(async () => done)).toBe(2);
    await expect(clock.advanceUntil(Promise.reject(new Error('it failed')))).rejects.toThrow('it failed');
    await expect(
      clock.advanceUntil(() => {
        throw new Error('no such node');
      }),
    ).rejects.toThrow('no such node');
    expect(clock.now()).toBe(320);
  });

  it('stops waiting for what does not come, by its own time', async () => {
    const clock = new TestClock();
    await expect(clock.advanceUntil(() => false, { timeoutMs: 50, what: 'a leader' })).rejects.toThrow(
      'a leader did not come within 50 ms',
    );
    expect(clock.now()).toBe(50);
    await expect(clock.advanceUntil(new Promise(ignore))).rejects.toThrow('within 600000 ms');
    expect(clock.now()).toBe(600_050);
    await expect(clock.advanceUntil(7 as unknown as Promise<void>)).rejects.toThrow(InvalidOptionError);
    await expect(clock.advanceUntil(() => true, { timeoutMs: -1 })).rejects.toThrow(InvalidOptionError);
  });

  it('keeps fifty sessions alive for a minute, without one heartbeat that comes late', async () => {
    const { clock, server } = await startServer();
    const sessions = await Promise.all(Array.from({ length: 50 }, () => openSession(server, clock)));
    const suspended = sessions.map((session) => recordEvents(session, 'suspended'));
    await clock.advance(60_000);
    expect(suspended.flat()).toEqual([]);
    expect(server.count('ping')).toBeGreaterThanOrEqual(50 * 45);
  });

  it('looks up names before time goes on', async () => {
    const { clock, server } = await startServer();
    const connecting = Session.connect(`localhost:${server.port}`, {
      connectTimeoutMs: 50,
      environment: clock.environment,
    });
    await clock.advance(40);
    const session = await connecting;
    await session.close();
  });

  it('ends a lease, and a session behind a network that fails, at the millisecond', async () => {
    const { clock, server } = await startServer();
    const session = await openSession(server, clock);
    const elector = new LeaderElector(session, '/election', {});
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    const elected = nextEvent<[Term]>(elector, 'elected');
    await elector.start();
    const [term] = await elected;
    await clock.advance(60_000);
    expect(term.isHeld()).toBe(true);
    expect(term.remainingMs()).toBeGreaterThanOrEqual(1500);
    server.partition();
    const leaseMs = term.remainingMs();
    await clock.advance(leaseMs - 1);
    expect(term.isHeld()).toBe(true);
    await clock.advance(1);
    expect(term.isHeld()).toBe(false);
    expect(server.sessions()).toHaveLength(1);
    await clock.advance(6500 - leaseMs);
    expect(server.sessions()).toHaveLength(0);
    expect(session.state.name).toBe('suspended');
    server.heal();
    await clock.advanceUntil(nextEvent(session, 'expired'));
  });
});
