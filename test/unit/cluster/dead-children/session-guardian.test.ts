import { ChildProcess } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeChildMessage } from '../../../../src/cluster/dead-children/guardian-messages.js';
import {
  type CleanupReport,
  nextPauseMs,
  SessionGuardian,
} from '../../../../src/cluster/dead-children/session-guardian.js';

const NOWHERE = '127.0.0.1:1';
const DAY_MS = 86_400_000;

/** A child without a process. */
function fakeChild() {
  const child = new ChildProcess();
  return Object.assign(child, { pid: 7, connected: true, channel: {}, send: () => true });
}

describe('a guardian', () => {
  it('greets a child that never answers ever more seldom: Node keeps each message for it (one every 10 s, for ever)', () => {
    let [pauseMs, elapsedMs, greetings] = [50, 0, 1];
    const after = (ms: number) => {
      for (; elapsedMs + pauseMs <= ms; greetings++) {
        elapsedMs += pauseMs;
        pauseMs = nextPauseMs(pauseMs);
      }
      return greetings;
    };
    expect(after(DAY_MS)).toBeLessThan(500);
    expect(after(365 * DAY_MS)).toBeLessThan(1500);
  });

  it('greets a child again within 10 s and a hundredth of the time since its first greeting', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30 * DAY_MS }), (startsAtMs) => {
        let [pauseMs, elapsedMs] = [50, 0];
        while (elapsedMs < startsAtMs) {
          elapsedMs += pauseMs;
          pauseMs = nextPauseMs(pauseMs);
        }
        expect(elapsedMs - startsAtMs).toBeLessThanOrEqual(10_100 + startsAtMs / 100);
      }),
    );
  });

  it('that is closed when a child has just ended still reads the last messages of the child', async () => {
    const guardian = new SessionGuardian({ connect: NOWHERE });
    const reports: CleanupReport[] = [];
    guardian.on('error', () => undefined).on('cleanedUp', (report) => void reports.push(report));
    const child = fakeChild();
    guardian.watch(child);
    Object.assign(child, { signalCode: 'SIGKILL' }).emit('exit', null, 'SIGKILL');
    const closed = guardian.close();
    const credentials = { id: 5n, password: Buffer.alloc(16) };
    child.emit(
      'message',
      encodeChildMessage({
        pid: 7,
        message: { kind: 'opened', session: '0x5', credentials, timeoutMs: 100 },
      }),
    );
    child.emit('disconnect');
    await closed;
    expect(reports).toMatchObject([{ pid: 7, sessions: [{ terms: 0 }] }]);
    expect(child.listenerCount('message')).toBe(0);
  });
});
