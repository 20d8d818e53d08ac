import { AsyncTask, SimpleIntervalJob, ToadScheduler } from 'toad-scheduler';
import { expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { LeaderJobs } from '../../src/jobs/index.js';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { openSession } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

type Job = () => Promise<void>;
/** Each starts a timer that fires each second, and returns a function that ends it. Schedules by cron: `scheduler-firings.test.ts`. */
const TIMERS: Record<string, (job: Job) => () => unknown> = {
  'toad-scheduler': (job) => {
    const scheduler = new ToadScheduler();
    scheduler.addSimpleIntervalJob(new SimpleIntervalJob({ seconds: 1 }, new AsyncTask('job', () => job())));
    return () => scheduler.stop();
  },
  setInterval: (job) => {
    const timer = setInterval(job, 1000);
    return () => clearInterval(timer);
  },
};

it.each(Object.entries(TIMERS))(
  'the firings of %s, whose phase differs in each replica, run once each, also when leadership moves',
  async (_, start) => {
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
          { missed: 'all', atLeastMs: 500 },
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
  },
);
