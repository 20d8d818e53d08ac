import { createTask, type ScheduledTask, type TaskContext } from 'node-cron';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LeaderElector } from '../../src/election/elector.js';
import type { Term } from '../../src/election/term/term.js';
import { type CatchUpOptions, LeaderRunCoordinator, type MissedFirings } from '../../src/node-cron/index.js';
import { deferred } from '../../src/platform/async/promises.js';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

const HOUR = 3600_000;
const DAY = 24 * HOUR;
// Half a day from LATEST, so that no firing comes while the tests run.
const LATEST = Math.floor((Date.now() - 12 * HOUR) / HOUR) * HOUR;
const DAILY = `0 ${new Date(LATEST).getUTCHours()} * * *`;
const HALF_AN_HOUR_LATER = `30 ${new Date(LATEST).getUTCHours()} * * *`;
const keyOf = (at: number) => `job:${new Date(at).toISOString()}`;

async function startServer(): Promise<string> {
  const server = await EmbeddedZooKeeper.start({ logger: SILENT });
  onTestFinished(() => server.stop());
  return server.connectString;
}

/** A replica with a scheduled task. It has joined the election, and leads if it is the first. */
class Replica {
  readonly ran: number[] = [];
  readonly missed: MissedFirings[] = [];
  /** Called by the job. */
  job: (at: number, term: Term) => unknown = () => undefined;
  readonly elector: LeaderElector;
  readonly coordinator: LeaderRunCoordinator;
  task: ScheduledTask | undefined;

  constructor(elector: LeaderElector) {
    this.elector = elector;
    this.coordinator = new LeaderRunCoordinator(elector, { graceMs: 0, logger: SILENT });
  }

  static async join(connect: string, path: string): Promise<Replica> {
    const elector = new LeaderElector(await openSession({ logger: SILENT }, connect), path);
    onTestFinished(() => elector.stop());
    return new Replica(elector);
  }

  /** Joins the election, and leads. */
  async lead(): Promise<void> {
    await eventAfter(this.elector, 'elected', () => this.elector.start());
  }

  schedule(options: CatchUpOptions, expression = DAILY): void {
    const job = async (context: TaskContext) => {
      const at = this.coordinator.scheduledFor(context).getTime();
      this.ran.push(at);
      await this.job(at, this.coordinator.termOf(context));
    };
    this.task = createTask(expression, job, {
      name: 'job',
      distributed: true,
      timezone: 'UTC',
      runCoordinator: this.coordinator,
      logger: SILENT as never,
    });
    onTestFinished(() => this.task?.destroy());
    void this.task.start();
    this.coordinator.catchUp(this.task, {
      missedWindowMs: 30 * DAY,
      timezone: 'UTC',
      onMissed: (missed) => this.missed.push(missed),
      ...options,
    });
  }

  /** Does what node-cron does at a firing: it asks whether the task may run. */
  async asks(at: number): Promise<boolean> {
    const mayRun = await this.coordinator.shouldRun(keyOf(at));
    if (mayRun) this.coordinator.onComplete(keyOf(at));
    return mayRun;
  }

  /** Ends this replica's term and begins another. By the end of the former term it has looked for missed firings. */
  async again(): Promise<void> {
    await eventAfter(this.elector, 'elected', () => this.elector.resign());
  }
}

/** Starts a replica that leads. In its election the task last ran at `lastRun`. */
async function leader(lastRun?: number): Promise<Replica> {
  const replica = await Replica.join(await startServer(), uniquePath('catch-up'));
  await replica.lead();
  if (lastRun !== undefined) expect(await replica.asks(lastRun)).toBe(true);
  return replica;
}

describe('firings that no process has run', () => {
  it('are each run, in their order, by a leader that is to run all', async () => {
    const replica = await leader(LATEST - 3 * DAY);
    replica.job = (_, term) => expect(term).toBe(replica.elector.term);
    replica.schedule({ missed: 'all' });
    await until(() => replica.ran.length === 3);
    expect(replica.ran).toEqual([LATEST - 2 * DAY, LATEST - DAY, LATEST]);
    expect(replica.missed).toEqual([{ task: 'job', toRun: replica.ran.map((at) => new Date(at)) }]);
    await replica.again();
    expect(await replica.asks(LATEST + DAY)).toBe(true);
    expect(replica.ran).toHaveLength(3);
  });

  it('are made up for by one run, for the latest, by a leader that is to run once', async () => {
    const replica = await leader(LATEST - 3 * DAY);
    replica.schedule({ missed: 'once' });
    await until(() => replica.ran.length === 1);
    await replica.again();
    expect(await replica.asks(LATEST + DAY)).toBe(true);
    expect(replica.ran).toEqual([LATEST]);
  });

  it('are left out by default', async () => {
    const replica = await leader(LATEST - 3 * DAY);
    replica.schedule({});
    expect(await replica.asks(LATEST + DAY)).toBe(true);
    expect(replica.ran).toEqual([]);
    expect(replica.elector.listenerCount('elected')).toBe(0);
  });

  it('are reported and left out for good when they are too old or too many', async () => {
    const replica = await leader(LATEST - 9 * DAY);
    replica.schedule({ missed: 'all', maxRuns: 2 });
    await until(() => replica.ran.length === 2);
    expect(replica.ran).toEqual([LATEST - DAY, LATEST]);
    const dropped = { after: new Date(LATEST - 9 * DAY), upTo: new Date(LATEST - 2 * DAY) };
    expect(replica.missed).toEqual([{ task: 'job', toRun: replica.ran.map((at) => new Date(at)), dropped }]);
    await replica.again();
    expect(await replica.asks(LATEST + DAY)).toBe(true);
    expect(replica.missed).toHaveLength(1);

    const other = await leader(LATEST - 9 * DAY);
    other.schedule({ missed: 'all', missedWindowMs: 1 });
    await until(() => other.missed.length === 1);
    expect(other.missed).toEqual([
      { task: 'job', toRun: [], dropped: { after: dropped.after, upTo: new Date(LATEST) } },
    ]);
    expect(await other.asks(LATEST + DAY)).toBe(true);
    expect(other.ran).toEqual([]);
  });

  it('are run by the next leader from where the one before was lost', async () => {
    const connect = await startServer();
    const path = uniquePath('catch-up');
    const [one, two] = [await Replica.join(connect, path), await Replica.join(connect, path)];
    await one.lead();
    await one.asks(LATEST - 4 * DAY);
    await two.elector.start();
    const reached = deferred();
    const ended = deferred();
    one.job = async (at, term) => {
      if (at !== LATEST - 2 * DAY) return;
      reached.resolve();
      await new Promise((resolve) => term.signal.addEventListener('abort', resolve));
      await ended.promise;
    };
    two.schedule({ missed: 'all' });
    one.schedule({ missed: 'all' });
    await reached.promise;
    const stopped = one.elector.stop();
    ended.resolve();
    await stopped;
    await until(() => two.ran.length === 2);
    expect([one.ran, two.ran]).toEqual([
      [LATEST - 3 * DAY, LATEST - 2 * DAY],
      [LATEST - DAY, LATEST],
    ]);
  });

  it('keep later ones waiting for their turn', async () => {
    const replica = await leader(LATEST - 2 * DAY);
    const blocked = deferred();
    replica.job = (at) => (at === LATEST - DAY ? blocked.promise : undefined);
    replica.schedule({ missed: 'all' });
    await until(() => replica.ran.length === 1);
    expect(await replica.asks(LATEST + DAY)).toBe(false);
    blocked.resolve();
    await until(() => replica.ran.length === 3);
    expect(replica.ran).toEqual([LATEST - DAY, LATEST, LATEST + DAY]);
    expect(await replica.asks(LATEST + 2 * DAY)).toBe(true);
  });

  it('are those that a waiting replica was asked for, once it leads', async () => {
    const connect = await startServer();
    const path = uniquePath('catch-up');
    const [one, two] = [await Replica.join(connect, path), await Replica.join(connect, path)];
    await one.lead();
    await two.elector.start();
    one.schedule({ missed: 'all' });
    two.schedule({ missed: 'all' });
    expect(await one.asks(LATEST + DAY)).toBe(true);
    expect(await two.asks(LATEST + DAY)).toBe(false);
    expect(await two.asks(LATEST + 2 * DAY)).toBe(false); // The leader doesn't ask, as if it had died.
    await one.elector.stop();
    await until(() => two.ran.length === 1);
    expect([one.ran, two.ran]).toEqual([[], [LATEST + 2 * DAY]]);
  });

  it('are none of a task that is new, or whose expression has changed since', async () => {
    const replica = await leader();
    replica.schedule({ missed: 'all' });
    expect(await replica.asks(LATEST + DAY)).toBe(true);
    await replica.task?.destroy();
    replica.schedule({ missed: 'all' }, HALF_AN_HOUR_LATER);
    expect(await replica.asks(LATEST + DAY + HOUR / 2)).toBe(true);
    expect(replica.ran).toEqual([]);
  });

  it('are run also when a job fails', async () => {
    const replica = await leader(LATEST - 2 * DAY);
    replica.job = () => Promise.reject(new Error('of the test'));
    replica.schedule({ missed: 'all' });
    await until(() => replica.ran.length === 2);
    expect(replica.ran).toEqual([LATEST - DAY, LATEST]);
  });

  it('are not looked for any more when the task is stopped or destroyed', async () => {
    const replica = await leader(LATEST - 3 * DAY);
    const begun = deferred();
    const blocked = deferred();
    replica.job = () => {
      begun.resolve();
      return blocked.promise;
    };
    replica.schedule({ missed: 'all' });
    await begun.promise;
    await replica.task?.destroy();
    blocked.resolve();
    await replica.again();
    expect(replica.ran).toEqual([LATEST - 2 * DAY]);
    expect(replica.elector.listenerCount('elected')).toBe(0);
  });

  it('are run of each second of an outage', async () => {
    const server = await EmbeddedZooKeeper.start({ logger: SILENT });
    onTestFinished(() => server.stop());
    const path = uniquePath('catch-up');
    const replicas = [
      await Replica.join(server.connectString, path),
      await Replica.join(server.connectString, path),
    ];
    const [one, two] = replicas as [Replica, Replica];
    await one.lead();
    const [session] = server.sessions().filter(({ ephemerals }) => ephemerals.length > 0);
    await two.elector.start();
    for (const replica of replicas) replica.schedule({ missed: 'all' }, '* * * * * *');
    await until(() => one.ran.length >= 2);
    expect(server.expireSession((each) => each.id === session?.id)).toBe(1);
    await until(() => two.ran.length >= 2);
    const slots = [...one.ran, ...two.ran];
    const first = slots[0] as number;
    expect(slots).toEqual(slots.map((_, index) => first + index * 1000));
  });
});

it('catching up refuses what is no task, a name that is taken, and wrong options', async () => {
  const replica = await leader();
  replica.schedule({ missed: 'all' });
  const { coordinator, task } = replica;
  const refused = (call: () => unknown, option: string) =>
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', option }));
  refused(() => coordinator.catchUp(task as ScheduledTask, { missed: 'once' }), 'task');
  refused(() => coordinator.catchUp({ name: 'other' } as never), 'task');
  refused(() => coordinator.catchUp(task as ScheduledTask, { missed: 'some' as never }), 'missed');
  refused(() => coordinator.catchUp(task as ScheduledTask, { missedWindowMs: 0 }), 'missedWindowMs');
  refused(() => coordinator.catchUp(task as ScheduledTask, { maxRuns: 0 }), 'maxRuns');
  refused(() => coordinator.catchUp(task as ScheduledTask, { timezone: 'nowhere' }), 'timezone');
  refused(() => coordinator.catchUp(task as ScheduledTask, { windowMs: 1 } as never), 'catchUp.windowMs');
});
