import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { EmbeddedZooKeeper, nextEvent, TestClock } from 'conclave/testing';
import { Reminders } from './reminders.mjs';

test('reminds once an hour, and goes on in the next term', async (t) => {
  const clock = new TestClock(); // Conclave's time: sessions, leases, retries.
  const server = await EmbeddedZooKeeper.start({ clock });
  const session = { environment: clock.environment };
  const { supervisor, sent } = new Reminders({ connect: server.connectString, session });
  t.after(async () => {
    await clock.advanceUntil(supervisor.stop());
    await server.stop();
  });
  t.mock.timers.enable({ apis: ['setTimeout'] }); // The application's time: setTimeout in `lead`.
  const elected = nextEvent(supervisor, 'elected');
  await supervisor.start();
  await clock.advanceUntil(elected);

  for (let hour = 0; hour < 2; hour++) {
    t.mock.timers.tick(3_600_000);
    await setImmediate(); // `tick` doesn't wait for what the timers have begun.
  }
  assert.deepEqual(sent, ['reminder in term 1', 'reminder in term 1', 'reminder in term 1']);

  const again = nextEvent(supervisor, 'elected');
  server.expireSession(() => true);
  await clock.advanceUntil(again);
  assert.equal(sent.at(-1), 'reminder in term 2');
});
