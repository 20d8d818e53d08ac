import { onTestFinished } from 'vitest';
import { Session } from '../../../src/session/session.js';
import { EmbeddedZooKeeper, TestClock } from '../../../src/testing/index.js';

const ignore = () => undefined;
const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** A server of the test's own, and sessions, in time that stands still until the clock is moved. All end with the test. */
export async function startWithTestClock() {
  const clock = new TestClock();
  const server = await EmbeddedZooKeeper.start({ clock, logger });
  onTestFinished(() => server.stop());
  const open = async () => {
    const session = await Session.connect(server.connectString, { environment: clock.environment, logger });
    onTestFinished(() => clock.advanceUntil(session.close()));
    return session;
  };
  return { clock, server, open };
}
