import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { OwnSessions } from '../../src/election/session-source.js';
import { ignore } from '../../src/promises.js';
import type { Environment } from '../../src/session/environment.js';
import { FakeClock, settle } from '../helpers/fake-clock.js';

const CONNECT_TIMEOUT_MS = 200;

/** No server in reach: when a session was given up, and what else went wrong. */
function outOfReach() {
  const clock = new FakeClock();
  const environment: Environment = {
    clock,
    random: () => 0.5,
    uuid: () => 'unused',
    resolve: (host) => Promise.resolve([host]),
    openSocket: () => {
      const socket = new Socket();
      setImmediate(() => socket.destroy(new Error('nobody listens')));
      return socket;
    },
  };
  const givenUpAt: number[] = [];
  const warn = () => void givenUpAt.push(clock.now());
  const logger = { debug: ignore, info: ignore, warn, error: ignore };
  const errors: unknown[] = [];
  const given = { environment, connectTimeoutMs: CONNECT_TIMEOUT_MS };
  const sessions = new OwnSessions('zk1', { given, environment, logger }, (error) => void errors.push(error));
  return { clock, sessions, givenUpAt, errors };
}

describe('the sessions of an observer', () => {
  it('are tried for again and again, after pauses that grow up to 5 s, without an error', async () => {
    const { clock, sessions, givenUpAt, errors } = outOfReach();
    const stop = new AbortController();
    const opening = sessions.session(stop.signal);
    while (givenUpAt.length < 9) await clock.advance(50);
    stop.abort(new Error('enough'));
    await expect(opening).rejects.toThrow('enough');
    const pauses = givenUpAt
      .slice(1)
      .map((at, index) => at - (givenUpAt[index] as number) - CONNECT_TIMEOUT_MS);
    expect(pauses).toEqual([75, 150, 300, 600, 1200, 2400, 3750, 3750]);
    expect(errors).toEqual([]);
    await sessions.close();
  });

  it('are given up, in a pause or in a try, leaving no timer', async () => {
    for (const afterMs of [CONNECT_TIMEOUT_MS / 2, CONNECT_TIMEOUT_MS + 30]) {
      const { clock, sessions } = outOfReach();
      const stop = new AbortController();
      const opening = sessions.session(stop.signal);
      await clock.advance(afterMs);
      stop.abort(new Error('enough'));
      await expect(opening).rejects.toThrow('enough');
      await sessions.close();
      await clock.advance(5000); // A try that was given up closes what it may have opened, in the background.
      await settle();
      expect(clock.running).toBe(0);
    }
  });
});
