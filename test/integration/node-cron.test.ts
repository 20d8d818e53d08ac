import { fileURLToPath } from 'node:url';
import { createTask, type RunCoordinator, type ScheduledTask, type TaskContext } from 'node-cron';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/supervisor.js';
import { LeaderElector } from '../../src/election/elector.js';
import type { Term } from '../../src/election/term/term.js';
import { LeaderRunCoordinator, type LeaderRunCoordinatorOptions } from '../../src/node-cron/index.js';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { until } from '../support/waiting.mjs';

const EVERY_SECOND = '* * * * * *';
const SECOND = 1000;

/** Starts a supervisor, and resolves when it leads, or waits behind another leader. */
async function join(path: string, id: string): Promise<ElectionSupervisor> {
  const supervisor = new ElectionSupervisor({ connect: connectString(), path, id });
  onTestFinished(() => supervisor.stop());
  await supervisor.start();
  return supervisor;
}

/** Starts an elector, and resolves when it leads. */
async function lead(path = uniquePath('cron'), connect = connectString()) {
  const elector = new LeaderElector(await openSession({}, connect), path);
  onTestFinished(() => elector.stop());
  const [term] = await eventAfter<[Term]>(elector, 'elected', () => elector.start());
  return { path, elector, term };
}

/** Schedules a task with node-cron, and destroys it at the end of the test. */
function schedule(
  coordinator: RunCoordinator,
  job: string | ((context: TaskContext) => unknown),
  name = 'job',
): ScheduledTask {
  const task = createTask(EVERY_SECOND, job, { name, distributed: true, runCoordinator: coordinator });
  onTestFinished(async () => {
    try {
      await task.destroy();
    } catch (error) {
      // A background task that is destroyed right at the end of a run may never report that. node-cron has killed it then.
      expect([typeof job, (error as Error).message]).toEqual(['string', 'Destroy operation timed out']);
    }
  });
  void task.start();
  return task;
}

describe("node-cron's jobs", () => {
  it('run on the leader only, in its term, and each firing once, also when another one takes over', async () => {
    const path = uniquePath('cron');
    const runs: { id: string; at: number; term: number }[] = [];
    const skipped: unknown[] = [];
    const missed = new Set<number>();
    const supervisors: ElectionSupervisor[] = [];
    for (const id of ['a', 'b']) {
      const supervisor = await join(path, id);
      supervisors.push(supervisor);
      const coordinator = new LeaderRunCoordinator(supervisor);
      const task = schedule(coordinator, (context) => {
        const term = coordinator.termOf(context);
        expect(term).toBe(supervisor.term);
        runs.push({ id, at: context.date.getTime(), term: term.number });
      });
      task.on('execution:skipped', ({ reason }) => void skipped.push(reason));
      // node-cron gives up a firing that is a second late, which happens on a busy machine.
      task.on('execution:missed', ({ date }) => void missed.add(date.getTime()));
    }
    const leader = () => supervisors.find(({ term }) => term !== undefined)?.id;
    await until(() => runs.length === 2);
    const first = leader();
    expect(runs.map(({ id }) => id)).toEqual([first, first]);
    await supervisors.find(({ id }) => id === first)?.resign();
    await until(() => runs.length === 4);
    const second = leader();
    expect(second).not.toBe(first);
    expect(runs.slice(2).map(({ id, term }) => ({ id, term }))).toEqual([
      { id: second, term: 2 },
      { id: second, term: 2 },
    ]);
    const slots = runs.map(({ at }) => at);
    const [from, to] = [slots[0] ?? 0, slots.at(-1) ?? 0];
    const all = Array.from({ length: (to - from) / SECOND + 1 }, (_, n) => from + n * SECOND);
    expect(slots).toEqual(all.filter((at) => !missed.has(at)));
    expect(new Set(skipped)).toEqual(new Set(['not-elected']));
  });

  it('are not run by a supervisor that stops, and keep its successor waiting until they have ended', async () => {
    const path = uniquePath('cron');
    const one = await join(path, 'one');
    await until(() => one.term !== undefined);
    const two = await join(path, 'two');
    const elected = nextEvent<[Term]>(two, 'elected');
    const steps: string[] = [];
    let aborted: unknown;
    const coordinator = new LeaderRunCoordinator(one);
    const begun = new Promise<void>((resolve) => {
      schedule(coordinator, async (context) => {
        const { signal } = coordinator.termOf(context);
        resolve();
        await new Promise((ended) => signal.addEventListener('abort', ended));
        aborted = signal.reason;
        await new Promise((ended) => setTimeout(ended, 200));
        steps.push('job ended');
      });
    });
    two.on('elected', () => void steps.push('elected'));
    await begun;
    await one.stop();
    await elected;
    expect(steps).toEqual(['job ended', 'elected']);
    expect(aborted).toMatchObject({ code: 'TERM_ENDED', reason: 'stopped' });
  });

  it('may run in a process of their own, as background tasks', async () => {
    const { elector } = await lead();
    const file = fileURLToPath(new URL('../fixtures/cron-task.mjs', import.meta.url));
    const task = schedule(new LeaderRunCoordinator(elector), file);
    const result = new Promise<TaskContext>((resolve) => task.once('execution:finished', resolve));
    expect((await result).execution?.result).toBe('ran in the background');
  });
});

describe('a coordinator', () => {
  const key = (seconds: number) => `job:${new Date(Date.UTC(2026, 0, 1) + seconds * SECOND).toISOString()}`;
  const make = (elector: LeaderElector, options?: LeaderRunCoordinatorOptions) =>
    new LeaderRunCoordinator(elector, { graceMs: 0, ...options });

  it('lets each firing of a task run once, in their order, also when asked twice at once', async () => {
    const { elector } = await lead();
    const [one, other] = [make(elector), make(elector)];
    const runs = async (seconds: number) =>
      (await Promise.all([one.shouldRun(key(seconds)), other.shouldRun(key(seconds))])).filter(Boolean)
        .length;
    expect([await runs(5), await runs(5), await runs(4), await runs(6)]).toEqual([1, 0, 0, 1]);
    expect(await one.shouldRun(key(6).replace('job', 'another job'))).toBe(true);
    for (const coordinator of [one, other])
      for (const seconds of [5, 6]) coordinator.onComplete(key(seconds));
    one.onComplete(key(6).replace('job', 'another job'));
  });

  it('remembers them over terms', async () => {
    const { elector } = await lead();
    const coordinator = make(elector);
    expect(await coordinator.shouldRun(key(1))).toBe(true);
    coordinator.onComplete(key(1));
    await eventAfter(elector, 'elected', () => elector.resign());
    expect(await coordinator.shouldRun(key(1))).toBe(false);
    expect(await coordinator.shouldRun(key(2))).toBe(true);
    coordinator.onComplete(key(2));
  });

  it('does not let a host with a wrong clock keep a task from running for ever', async () => {
    const { elector } = await lead();
    const coordinator = make(elector);
    const year = 365 * 24 * 3600;
    for (const seconds of [year, 0, 1]) {
      expect(await coordinator.shouldRun(key(seconds))).toBe(true);
      coordinator.onComplete(key(seconds));
    }
  });

  it('lets nothing run without a term, and waits for one no longer than its grace', async () => {
    const { path, elector } = await lead();
    const waiting = new LeaderElector(await openSession(), path);
    onTestFinished(() => waiting.stop());
    await waiting.start();
    expect(await make(waiting).shouldRun(key(1))).toBe(false);
    const patient = make(waiting, { graceMs: 30_000 });
    const asked = patient.shouldRun(key(1));
    await elector.stop();
    expect(await asked).toBe(true);
    patient.onComplete(key(1));
    expect(waiting.listenerCount('elected')).toBe(0);
    await waiting.stop();
    expect(await make(waiting, { graceMs: 1 }).shouldRun(key(2))).toBe(false);
  });

  it('knows the term of a job while that runs', async () => {
    const { elector, term } = await lead();
    const coordinator = make(elector);
    const context = { date: new Date(Date.UTC(2026, 0, 1)), task: { name: 'job' } };
    const notRunning = expect.objectContaining({ code: 'INVALID_STATE' });
    expect(() => coordinator.termOf(context)).toThrow(notRunning);
    expect(await coordinator.shouldRun(key(0))).toBe(true);
    expect(coordinator.termOf(context)).toBe(term);
    expect(() => coordinator.termOf({ date: context.date })).toThrow(notRunning);
    coordinator.onComplete(key(0));
    coordinator.onComplete(key(0));
    expect(() => coordinator.termOf(context)).toThrow(notRunning);
  });

  it('gives leadership away when a job that never ends has had settleWithinMs since the end of its term', async () => {
    const { elector, term } = await lead();
    const coordinator = make(elector, { settleWithinMs: 100 });
    expect(await coordinator.shouldRun(key(1))).toBe(true);
    const endedAt = performance.now();
    await elector.stop();
    expect(performance.now() - endedAt).toBeGreaterThanOrEqual(99);
    expect(term.signal.aborted).toBe(true);
  });

  it('runs a firing once though the reply to its note is lost', async () => {
    const server = await EmbeddedZooKeeper.start();
    onTestFinished(() => server.stop());
    const { elector } = await lead('/election', server.connectString);
    const coordinator = make(elector);
    expect(await coordinator.shouldRun(key(1))).toBe(true);
    const fault = server.swallowReply('multi', { path: '/election/cron/job', times: 1 });
    expect(await coordinator.shouldRun(key(2))).toBe(true);
    expect(fault.hits).toBe(1);
    expect(await coordinator.shouldRun(key(2))).toBe(false);
    for (const seconds of [1, 2]) coordinator.onComplete(key(seconds));
  });

  it('refuses what is not an election, and wrong options', async () => {
    const { elector } = await lead();
    const refused = (call: () => unknown) => {
      expect(call).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    };
    refused(() => new LeaderRunCoordinator({ term: undefined } as never));
    refused(() => make(elector, { graceMs: -1 }));
    refused(() => make(elector, { settleWithinMs: Infinity }));
    refused(() => make(elector, { path: 'cron' }));
    refused(() => make(elector, { ttlMs: 1 } as never));
    await expect(make(elector).shouldRun('job')).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });
});
