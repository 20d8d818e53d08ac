import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Term } from 'conclave';
import { EmbeddedZooKeeper, JobTester, nextEvent, recordEvents, TestClock, until } from 'conclave/testing';
import { type Job, Scheduler } from './scheduler.js';

/** A job that takes an hour, unless it is stopped. */
const anHour = (term: Term) => sleep(3_600_000, undefined, { signal: term.signal });

/** A server, a scheduler that leads, and the clock that both go by. */
async function startScheduler(t: TestContext, job: Job, clock = new TestClock()) {
  const server = await EmbeddedZooKeeper.start({ clock });
  const session = { sessionTimeoutMs: 6000, environment: clock.environment };
  const { supervisor, log } = new Scheduler({ connect: server.connectString, session, job });
  t.after(async () => {
    await clock.advanceUntil(supervisor.stop()); // First, because it still sends requests to the server.
    await server.stop();
  });
  await supervisor.start();
  await clock.advanceUntil(() => log.length > 0);
  return { clock, server, supervisor, log };
}

test('a job ends when leadership is lost in the middle of it, and is begun again in the next term', async (t) => {
  const { clock, server, log } = await startScheduler(t, anHour);
  server.expireSession(() => true);
  await clock.advanceUntil(() => log.includes('begun in term 2')); // Some seconds, in some milliseconds.
  assert.deepEqual(log, ['begun in term 1', 'given up: session-expired', 'cleaned up', 'begun in term 2']);
});

test('what happens after a loss comes in the order that the scheduler relies on', async (t) => {
  const { clock, server, supervisor } = await startScheduler(t, anHour);
  const events = recordEvents(supervisor, 'demoted', 'expired', 'cleaned', 'restarting', 'elected');
  server.expireSession(() => true);
  await clock.advanceUntil(nextEvent(supervisor, 'elected'));
  assert.deepEqual(events, ['demoted', 'expired', 'cleaned', 'restarting', 'elected']);
});

test('what a job has done by the time its lease is over does not count', async (t) => {
  const clock = new TestClock();
  // In the first term the process stands still in the middle of it: no timer runs, no event is emitted.
  const { log } = await startScheduler(
    t,
    async (term) => (term.number === 1 ? clock.jump(2500) : anHour(term)),
    clock,
  );
  await clock.advanceUntil(() => log.length >= 2);
  assert.deepEqual(log.slice(0, 2), ['begun in term 1', 'given up: lease-expired']);
});

test('a server that is away for three seconds costs the leader its term, and its state is cleaned up', async (t) => {
  const { clock, server, supervisor, log } = await startScheduler(t, anHour);
  await clock.advance(60_000);
  assert.equal(supervisor.term?.number, 1);
  server.pause();
  await clock.advance(3000);
  assert.equal(supervisor.term, undefined);
  server.resume();
  await clock.advance(10_000);
  assert.deepEqual(log, ['begun in term 1', 'given up: lease-expired', 'cleaned up', 'begun in term 2']);
});

test('a leader that is cut off has stopped before another one leads', async (t) => {
  const { clock, server, log } = await startScheduler(t, anHour);
  const session = { environment: clock.environment };
  const other = new Scheduler({ connect: server.connectString, session, job: anHour });
  t.after(() => clock.advanceUntil(other.supervisor.stop()));
  server.sessions()[0]?.partition();
  await other.supervisor.start();
  while (other.log.length === 0) {
    await clock.advance(100);
    assert.ok(other.log.length === 0 || log.includes('given up: lease-expired'));
  }
  server.clearFaults();
  await clock.advance(10_000);
  assert.ok(log.includes('cleaned up')); // It has lost its term, so it cleans up before it waits for its turn again.
});

test('the next leader runs a firing that came before', async (t) => {
  const tester = await JobTester.start();
  t.after(() => tester.stop());
  const ran: Date[] = [];
  const backup = tester.jobs.job('backup', ({ scheduledFor }) => void ran.push(scheduledFor));
  await backup(); // The other replica leads.
  assert.equal(ran.length, 0);
  await tester.lead();
  await until(() => ran.length === 1);
  await backup(new Date(Date.now() + 2000)); // A time of its own: all calls in one second are the same firing.
  assert.equal(ran.length, 2);
  await tester.follow(); // Aborts the signals of runs, and waits for the runs.
});
