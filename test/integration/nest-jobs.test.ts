import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import { describe, expect, it } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import type { JobRun } from '../../src/jobs/job-run.js';
import { LeaderJobs } from '../../src/jobs/leader-jobs.js';
import { currentTerm } from '../../src/lease/current-term.js';
import { ConclaveModule } from '../../src/nestjs/conclave-module.js';
import { jobsToken } from '../../src/nestjs/injection-tokens.js';
import { LeaderJob } from '../../src/nestjs/leader-job.js';
import { application, decorate } from '../support/conclave/nest.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { deferred } from '../support/waiting.mjs';

/** A date as the first argument is the time of the firing. */
const FIRING = new Date(Math.floor(Date.now() / 1000) * 1000 - 3000);
/** The tests take less. */
const LATE = { lateMs: 3_600_000 };

/** A class with a job that fires for the date that the call gives, and notes its runs. */
function serviceClass(options = {}) {
  class Reports {
    readonly runs: JobRun[] = [];

    async write(run: JobRun) {
      this.runs.push(run);
      return `by ${this.constructor.name}, in its term: ${currentTerm() === run.term}`;
    }
  }
  decorate(Reports.prototype, 'write', LeaderJob({ ...LATE, ...options }));
  return Reports as unknown as new () => { runs: JobRun[]; write(date?: Date): Promise<string | undefined> };
}

/** A replica with these services, that hasn't begun yet. */
async function replica(path: string, ...providers: (new () => object)[]) {
  const app = await application({
    imports: [ConclaveModule.forRoot({ connect: connectString(), path })],
    providers,
  });
  return { app, supervisor: app.get(ElectionSupervisor) };
}

/** The names in the run log. */
async function jobsIn(path: string): Promise<string[]> {
  const session = await openSession();
  return (await session.getChildren(`${path}/cron`)).map(decodeURIComponent).sort();
}

describe('@LeaderJob()', () => {
  it('runs each firing once, in the replica that leads, and gives the run to the method', async () => {
    const [path, Reports] = [uniquePath('nest'), serviceClass()];
    const [first, second] = [await replica(path, Reports), await replica(path, Reports)];
    await eventAfter(first.supervisor, 'elected', () => first.app.init());
    await second.app.init();
    const [leading, waiting] = [first.app.get(Reports), second.app.get(Reports)];
    expect(await waiting.write(FIRING)).toBeUndefined();
    expect(await leading.write(FIRING)).toBe('by Reports, in its term: true');
    expect(await leading.write(FIRING)).toBeUndefined();
    expect([leading, waiting].map(({ runs }) => runs.length)).toEqual([1, 0]);
    expect(leading.runs[0]).toMatchObject({ scheduledFor: FIRING, term: first.supervisor.term });
    expect(await jobsIn(path)).toEqual(['Reports.write']);
  });

  it('registers the job before the first election, so that a remembered firing runs at its beginning', async () => {
    const ran = deferred<string>();
    class Service {
      async work(run: JobRun) {
        ran.resolve(run.scheduledFor.toISOString());
      }
    }
    decorate(Service.prototype, 'work', LeaderJob({ name: 'by name', ...LATE }));
    const { app, supervisor } = await replica(uniquePath('nest'), Service);
    const service = app.get(Service) as unknown as { work(date: Date): Promise<void> };
    expect(await service.work(FIRING)).toBeUndefined();
    await eventAfter(supervisor, 'elected', () => app.init());
    expect(await ran.promise).toBe(FIRING.toISOString());
  });

  it('has a subclass run under its own name, and none that overrides the method', async () => {
    const Reports = serviceClass();
    class Inheriting extends Reports {}
    class Overriding extends Reports {
      override write(date?: Date) {
        return super.write(date);
      }
    }
    class Decorated extends Reports {
      override async write(run?: unknown) {
        return `the own one, ${(run as JobRun).token > 0n}`;
      }
    }
    decorate(Decorated.prototype, 'write', LeaderJob(LATE));
    const path = uniquePath('nest');
    const { app, supervisor } = await replica(path, Inheriting, Overriding, Decorated);
    await eventAfter(supervisor, 'elected', () => app.init());
    expect(await app.get(Inheriting).write(FIRING)).toBe('by Inheriting, in its term: true');
    expect(await app.get(Decorated).write(FIRING)).toBe('the own one, true');
    await expect(app.get(Overriding).write(FIRING)).rejects.toThrow(
      '@LeaderJob() has nothing to work with in this Overriding: ',
    );
    expect(await jobsIn(path)).toEqual(['Decorated.write', 'Inheriting.write']);
  });

  it('fires by @Cron and @Interval, that stand above and below', async () => {
    const runs = new Map<string, JobRun>();
    const all = deferred();
    class Scheduled {
      async cronAbove(run: JobRun) {
        this.note('cronAbove', run);
      }

      async cronBelow(run: JobRun) {
        this.note('cronBelow', run);
      }

      async intervalAbove(run: JobRun) {
        this.note('intervalAbove', run);
      }

      async intervalBelow(run: JobRun) {
        this.note('intervalBelow', run);
      }

      private note(name: string, run: JobRun) {
        runs.set(name, run);
        if (runs.size === 4) all.resolve();
      }
    }
    decorate(Scheduled.prototype, 'cronAbove', Cron('* * * * * *'), LeaderJob());
    decorate(Scheduled.prototype, 'cronBelow', LeaderJob(), Cron('* * * * * *'));
    decorate(Scheduled.prototype, 'intervalAbove', Interval(300), LeaderJob({ atLeastMs: 150 }));
    decorate(Scheduled.prototype, 'intervalBelow', LeaderJob({ atLeastMs: 150 }), Interval(300));
    const app = await application({
      imports: [
        ScheduleModule.forRoot(),
        ConclaveModule.forRoot({ connect: connectString(), path: uniquePath('nest') }),
      ],
      providers: [Scheduled],
    });
    await eventAfter(app.get(ElectionSupervisor), 'elected', () => app.init());
    await all.promise;
    for (const name of ['cronAbove', 'cronBelow'])
      expect(runs.get(name)?.scheduledFor.getMilliseconds()).toBe(0);
  });

  it('belongs to the election that it names, whose LeaderJobs have a token', async () => {
    class Service {
      async work(run: JobRun) {
        return run.term;
      }
    }
    decorate(Service.prototype, 'work', LeaderJob({ election: 'reports' }));
    const options = { connect: connectString(), path: uniquePath('nest'), name: 'reports' };
    const app = await application({ imports: [ConclaveModule.forRoot(options)], providers: [Service] });
    const supervisor = app.get<ElectionSupervisor>('ElectionSupervisor:reports');
    expect(jobsToken('reports')).toBe('LeaderJobs:reports');
    expect(app.get(jobsToken('reports'))).toBeInstanceOf(LeaderJobs);
    await eventAfter(supervisor, 'elected', () => app.init());
    const service = app.get(Service) as unknown as { work(): Promise<unknown> };
    expect(await service.work()).toBe(supervisor.term);
  });

  it('refuses wrong options and two jobs of one name, with their names', async () => {
    expect(() => LeaderJob({ name: '' })).toThrow('name is "": expected');
    expect(() => LeaderJob('backup' as never)).toThrow('options is');
    const create = (...classes: (new () => object)[]) => replica(uniquePath('nest'), ...classes);
    await expect(create(serviceClass({ lateMs: -1 }))).rejects.toThrow('lateMs is -1: expected');
    await expect(create(serviceClass({ late: 1 }))).rejects.toThrow('job.late');
    const [one, two] = [serviceClass({ name: 'reports' }), serviceClass({ name: 'reports' })];
    await expect(create(one, two)).rejects.toThrow(
      'name is "reports": expected a name that no other job of this election and `path` has',
    );
  });
});
