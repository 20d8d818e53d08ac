import { afterEach, expect, jest, test } from '@jest/globals';
import { EmbeddedZooKeeper, nextEvent, TestClock } from 'conclave/testing';
import { Reminders } from './reminders.mjs';

/** @type {(() => Promise<void>)[]} */
const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

test('reminds once an hour, and goes on in the next term', async () => {
  const clock = new TestClock(); // Conclave's time: sessions, leases, retries.
  const server = await EmbeddedZooKeeper.start({ clock });
  const session = { environment: clock.environment };
  const { supervisor, sent } = new Reminders({ connect: server.connectString, session });
  ends.push(async () => {
    await clock.advanceUntil(supervisor.stop());
    await server.stop();
    jest.useRealTimers();
  });
  jest.useFakeTimers(); // The application's time: setTimeout in `lead`.
  const elected = nextEvent(supervisor, 'elected');
  await supervisor.start();
  await clock.advanceUntil(elected);

  await jest.advanceTimersByTimeAsync(2 * 3_600_000);
  expect(sent).toEqual(['reminder in term 1', 'reminder in term 1', 'reminder in term 1']);

  const again = nextEvent(supervisor, 'elected');
  server.expireSession(() => true);
  await clock.advanceUntil(again);
  expect(sent.at(-1)).toBe('reminder in term 2');
});
