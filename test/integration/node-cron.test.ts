import { createTask, type ScheduledTask } from 'node-cron';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { type JobRun, LeaderJobs } from '../../src/jobs/index.js';
import { connectString, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { until } from '../support/waiting.mjs';

const SECOND = 1000;

/** Starts a supervisor, and resolves when it leads, or waits behind another leader. */
async function join(path: string, id: string): Promise<ElectionSupervisor> {
  const supervisor = new ElectionSupervisor({ connect: connectString(), path, id });
  onTestFinished(() => supervisor.stop());
  await supervisor.start();
  return supervisor;
}

/** Lets node-cron fire a job each second, until the end of the test. */
function schedule(supervisor: ElectionSupervisor, work: (run: JobRun) => unknown): ScheduledTask {
  const job = new LeaderJobs(supervisor).job('job', work, { missed: 'all' });
  const task = createTask('* * * * * *', job);
  onTestFinished(() => task.destroy());
  void task.start();
  return task;
}

describe("node-cron's jobs", () => {
  it('run on the leader only, in its term, and each firing once, also when another one takes over', async () => {
    const path = uniquePath('cron');
    const runs: { id: string; at: number; term: number }[] = [];
    const missed = new Set<number>();
    const supervisors: ElectionSupervisor[] = [];
    for (const id of ['a', 'b']) {
      const supervisor = await join(path, id);
      supervisors.push(supervisor);
      const task = schedule(supervisor, ({ term, scheduledFor }) => {
        expect(term).toBe(supervisor.term);
        runs.push({ id, at: scheduledFor.getTime(), term: term.number });
      });
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
    expect(slots).toEqual(all.filter((at) => slots.includes(at) || !missed.has(at)));
  });

  it('are not run by a supervisor that stops, and keep its successor waiting until they have ended', async () => {
    const path = uniquePath('cron');
    const one = await join(path, 'one');
    await until(() => one.term !== undefined);
    const two = await join(path, 'two');
    const elected = nextEvent(two, 'elected');
    const steps: string[] = [];
    let aborted: unknown;
    const begun = new Promise<void>((resolve) => {
      schedule(one, async ({ signal }) => {
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
});
