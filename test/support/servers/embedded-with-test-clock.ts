import { onTestFinished } from 'vitest';
import { Session } from '../../../src/session/session.js';
import type { SessionOptions } from '../../../src/session/session-options.js';
import {
  type EmbeddedSession,
  type EmbeddedZooKeeper,
  type EmbeddedZooKeeperOptions,
  TestClock,
} from '../../../src/testing/index.js';
import { SILENT } from '../silent-logger.mjs';
import { startEmbedded } from './embedded.js';

type SessionServers = Parameters<typeof Session.connect>[0];

/** A server of the test's own, and sessions, in time that stands still until the clock is moved. All end with the test. */
export async function startWithTestClock(given: EmbeddedZooKeeperOptions = {}) {
  const clock = new TestClock();
  const server = await startEmbedded({ clock, ...given });
  const open = async (options: SessionOptions = {}, connect: SessionServers = server.connectString) => {
    const session = await Session.connect(connect, {
      ...{ logger: SILENT, environment: clock.environment },
      ...options,
    });
    onTestFinished(() => clock.advanceUntil(session.close()));
    return session;
  };
  return { clock, server, open };
}

/** The session as its server has it. @throws Error if it has ended there */
export function sessionAt(server: EmbeddedZooKeeper, { credentials }: Session): EmbeddedSession {
  const found = server.sessions().find(({ id }) => id === credentials.id);
  if (found === undefined) throw new Error(`the server has no session ${credentials.id}`);
  return found;
}
