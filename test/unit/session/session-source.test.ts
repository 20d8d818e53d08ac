import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Environment } from '../../../src/platform/injected-environment.js';
import { reportPauseMs } from '../../../src/session/connection/outage.js';
import { connectSource } from '../../../src/session/connection/server-list.js';
import { OwnSessions } from '../../../src/session/session-source.js';
import { TestClock } from '../../../src/testing/controls/test-clock.js';
import { SILENT } from '../../support/silent-logger.mjs';
import { settle } from '../../support/waiting.mjs';

const CONNECT_TIMEOUT_MS = 200;

/** Makes sessions without a server in reach. A try fails after `knownAfterMs`. Records when sessions are given up, and the errors. */
function outOfReach(knownAfterMs = 0) {
  const clock = new TestClock();
  const environment: Environment = {
    clock,
    random: () => 0.5,
    uuid: () => 'unused',
    resolve: (host) => Promise.resolve([host]),
    openSocket: () => {
      const socket = new Socket();
      const fail = () => void socket.destroy(new Error('no server listens'));
      if (knownAfterMs === 0) setImmediate(fail);
      else clock.after(knownAfterMs, fail);
      return socket;
    },
  };
  const givenUpAt: number[] = [];
  const logger = { ...SILENT, info: () => void givenUpAt.push(clock.now()) };
  const errors: { at: number; error: unknown }[] = [];
  const given = { environment, connectTimeoutMs: CONNECT_TIMEOUT_MS };
  const sessions = new OwnSessions(
    connectSource('zk1'),
    { given, environment, logger },
    (error) => void errors.push({ at: clock.now(), error }),
  );
  /** Asks for a session, moves the clock until then, and gives the session up. */
  const tryUntil = async (isOver: () => boolean) => {
    const stop = new AbortController();
    const opening = sessions.session(stop.signal);
    while (!isOver()) await clock.advance(50);
    stop.abort(new Error('enough'));
    await expect(opening).rejects.toThrow('enough');
    await sessions.close();
  };
  return { clock, tryUntil, givenUpAt, errors };
}

describe('the sessions of an observer', () => {
  it('are tried for again and again, after pauses that grow up to 5 s', async () => {
    const { tryUntil, givenUpAt } = outOfReach();
    await tryUntil(() => givenUpAt.length >= 9);
    const pauses = givenUpAt
      .slice(1)
      .map((at, index) => at - (givenUpAt[index] as number) - CONNECT_TIMEOUT_MS);
    expect(pauses).toEqual([75, 150, 300, 600, 1200, 2400, 3750, 3750]);
  });

  it('report that no server serves after the first round, and then less and less often (that was silent)', async () => {
    const { clock, tryUntil, errors } = outOfReach();
    await tryUntil(() => clock.now() >= 300_000);
    expect(errors[0]?.error).toMatchObject({ code: 'NO_SERVER', retryable: true, address: 'zk1:2181' });
    expect(errors[0]?.error).toMatchObject({ cause: { message: 'no server listens' } });
    expect(errors[3]?.error).toMatchObject({
      message: expect.stringMatching(/for \d+ s: no server listens/),
    });
    const pauses = errors.slice(1).map(({ at }, index) => at - (errors[index]?.at ?? 0));
    // A try comes when it is due, or when a server has its turn next.
    for (const [index, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(reportPauseMs(index + 1));
      expect(pause).toBeLessThan(reportPauseMs(index + 1) + 5000);
    }
    expect(errors.length).toBeGreaterThan(7);
    expect(errors.length).toBeLessThan(12);
  });

  it('report it also when each is given up before its first try has come to its end (that was silent)', async () => {
    const { clock, tryUntil, errors } = outOfReach(CONNECT_TIMEOUT_MS + 100);
    await tryUntil(() => clock.now() >= 60_000);
    expect(errors.length).toBeGreaterThan(4);
    expect(errors[0]?.error).toMatchObject({ code: 'NO_SERVER', cause: { message: 'no server listens' } });
  });

  it('are given up, in a pause or in a try, leaving no timer', async () => {
    for (const afterMs of [CONNECT_TIMEOUT_MS / 2, CONNECT_TIMEOUT_MS + 50]) {
      const { clock, tryUntil } = outOfReach();
      await tryUntil(() => clock.now() >= afterMs);
      await clock.advance(5000); // A try that was given up closes, in the background, any session that it has opened.
      await settle();
      expect(clock.timerCount).toBe(0);
    }
  });
});
