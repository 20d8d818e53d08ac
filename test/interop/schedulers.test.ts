import { CronJob, CronTime } from 'cron';
import { Cron } from 'croner';
import { schedule as scheduleByNodeCron } from 'node-cron';
import { scheduleJob } from 'node-schedule';
import { AsyncTask, SimpleIntervalJob, ToadScheduler } from 'toad-scheduler';
import { expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { type JobOptions, LeaderJobs } from '../../src/jobs/index.js';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { openSession } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

const SECOND = 1000;

type Job = (...args: unknown[]) => Promise<void>;
/** Starts a schedule that fires each second. Returns a function that ends it. */
const SCHEDULERS: Record<string, { start(job: Job): () => unknown; options?: JobOptions }> = {
  croner: {
    start: (job) => {
      const cron = new Cron('* * * * * *', job);
      return () => cron.stop();
    },
    options: { next: (after) => new Cron('* * * * * *').nextRun(after) },
  },
  cron: {
    start: (job) => {
      const cron = CronJob.from({ cronTime: '* * * * * *', onTick: job, start: true });
      return () => cron.stop();
    },
    options: { next: (after) => new CronTime('* * * * * *', 'UTC').getNextDateFrom(after, 'UTC').toJSDate() },
  },
  'node-schedule': {
    start: (job) => {
      const scheduled = scheduleJob('* * * * * *', job);
      return () => scheduled.cancel();
    },
  },
  'node-cron': {
    start: (job) => {
      const task = scheduleByNodeCron('* * * * * *', job);
      return () => task.destroy();
    },
  },
  'toad-scheduler': {
    start: (job) => {
      const scheduler = new ToadScheduler();
      scheduler.addSimpleIntervalJob(
        new SimpleIntervalJob({ seconds: 1 }, new AsyncTask('job', () => job())),
      );
      return () => scheduler.stop();
    },
    options: { atLeastMs: 500 },
  },
  setInterval: {
    start: (job) => {
      const timer = setInterval(job, SECOND);
      return () => clearInterval(timer);
    },
    options: { atLeastMs: 500 },
  },
};

it.each(Object.entries(SCHEDULERS))(
  'the firings of %s run once each, also when leadership moves',
  async (_, { start, options }) => {
    const server = await EmbeddedZooKeeper.start({ logger: SILENT });
    const ends: (() => unknown)[] = [() => server.stop()];
    const firings: { id: number; at: number }[] = [];
    const electors: LeaderElector[] = [];
    try {
      for (const id of [1, 2]) {
        const session = await openSession({ logger: SILENT }, server.connectString);
        const elector = new LeaderElector(session, '/jobs', { logger: SILENT });
        const jobs = new LeaderJobs(elector, { logger: SILENT });
        const job = jobs.job(
          'job',
          ({ scheduledFor }) => void firings.push({ id, at: scheduledFor.getTime() }),
          { missed: 'all', ...options },
        );
        ends.unshift(start(job), () => elector.stop());
        electors.push(elector);
        if (id === 1) await eventAfter(elector, 'elected', () => elector.start());
        else await elector.start();
      }
      await until(() => firings.length >= 2);
      await electors[0]?.resign();
      await until(() => firings.filter(({ id }) => id === 2).length >= 2);
    } finally {
      for (const end of ends) await end();
    }
    const times = firings.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(new Set(times).size).toBe(times.length);
    expect(firings.map(({ id }) => id)).toEqual(firings.map(({ id }) => id).toSorted());
    const [first = 0, last = 0] = [times[0], times.at(-1)];
    // The two timers of an interval have phases of their own.
    if (options?.atLeastMs === undefined) expect(times).toHaveLength((last - first) / SECOND + 1);
  },
);
