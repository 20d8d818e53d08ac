import type { Socket } from 'node:net';
import { runInNewContext } from 'node:vm';
import { CronJob } from 'cron';
import { Cron } from 'croner';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import type { Term } from '../../src/election/term/term.js';
import { type JobOptions, type JobRun, LeaderJobs } from '../../src/jobs/index.js';
import { currentTerm } from '../../src/lease/current-term.js';
import { deferred } from '../../src/platform/async/promises.js';
import { type Environment, systemEnvironment } from '../../src/platform/injected-environment.js';
import type { Clock } from '../../src/platform/time/clock.js';
import { Session } from '../../src/session/session.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { aborted, eventAfter, nextEvent } from '../support/events.js';
import { recordingLogger } from '../support/recording-logger.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

const NOON = Date.UTC(2026, 10, 21, 12);
const SECOND = 1000;
const HOUR = 3600 * SECOND;

/** A process of the service, with a time of day of its own. */
class Replica {
  readonly elector: LeaderElector;
  readonly jobs: LeaderJobs;
  readonly logged: ReturnType<typeof recordingLogger>['lines'];
  /** The firings that it has run, in milliseconds since noon. */
  readonly ran: number[] = [];
  /** Its host's time of day. */
  now = NOON;

  private constructor(elector: LeaderElector) {
    this.elector = elector;
    const { lines, logger } = recordingLogger();
    this.logged = lines;
    this.jobs = new LeaderJobs(elector, { logger });
  }

  /** Opens a session. It doesn't take part yet. */
  static async open(path: string, connect = connectString(), sessionTimeoutMs?: number): Promise<Replica> {
    let replica: Replica | undefined;
    const { clock } = systemEnvironment;
    const ofHost: Clock = {
      now: () => clock.now(),
      after: (...args) => clock.after(...args),
      date: () => new Date(replica?.now ?? NOON),
    };
    const environment = { ...systemEnvironment, clock: ofHost };
    const timeout = sessionTimeoutMs === undefined ? {} : { sessionTimeoutMs };
    const session = await openSession({ logger: SILENT, environment, ...timeout }, connect);
    const elector = new LeaderElector(session, path, { logger: SILENT });
    onTestFinished(() => elector.stop());
    replica = new Replica(elector);
    return replica;
  }

  /** A replica that leads, alone. */
  static async leading(): Promise<Replica> {
    const replica = await Replica.open(uniquePath('jobs'));
    await replica.lead();
    return replica;
  }

  /** Joins the election, and leads. */
  async lead(): Promise<Term> {
    const [term] = await eventAfter<[Term]>(this.elector, 'elected', () => this.elector.start());
    return term;
  }

  /** A job that is given the time of its firing, in milliseconds since noon. */
  job<T>(options?: JobOptions, work: (run: JobRun) => T | PromiseLike<T> = () => undefined as T) {
    const run = (given: JobRun) => {
      this.ran.push(given.scheduledFor.getTime() - NOON);
      return work(given);
    };
    const job = this.jobs.job('job', run, { scheduledFor: (at) => at as Date, ...options });
    return (at: number) => job(new Date(NOON + at));
  }

  get errors(): string[] {
    return this.logged.filter(({ level }) => level === 'error').map(({ message }) => message);
  }
}

/** Two replicas of which the first leads, and the second waits behind it. */
async function openTwo(connect = connectString()) {
  const path = uniquePath('jobs');
  const [one, two] = [await Replica.open(path, connect), await Replica.open(path, connect)];
  const term = await one.lead();
  await two.elector.start();
  return { path, one, two, term };
}

/** Lets the leader stop, and resolves when the other one leads. */
async function succeed({ one, two }: { one: Replica; two: Replica }): Promise<void> {
  await eventAfter(two.elector, 'elected', () => one.elector.stop());
}

/**
 * All that the second of two candidates sends in ten seconds of a clock that only the test moves: each request, with the time at which it
 * comes, and the bytes. `prepare` gets that candidate, and returns what is called each 10 ms, 100 times a second.
 */
async function sentByWaiting(prepare: (waiting: LeaderElector) => ((at: number) => void) | undefined) {
  const { clock, server, open } = await startWithTestClock();
  const leader = new LeaderElector(await open(), '/jobs', { logger: SILENT });
  await clock.advanceUntil(eventAfter(leader, 'elected', () => leader.start()));
  const sockets: Socket[] = [];
  const openSocket: Environment['openSocket'] = (...target) => {
    const socket = clock.environment.openSocket(...target);
    sockets.push(socket);
    return socket;
  };
  const environment = { ...clock.environment, openSocket };
  const session = await Session.connect(server.connectString, { logger: SILENT, environment });
  onTestFinished(() => clock.advanceUntil(session.close()));
  const waiting = new LeaderElector(session, '/jobs', { logger: SILENT });
  const call = prepare(waiting);
  await clock.advanceUntil(waiting.start());
  await clock.advance(10_000); // The beginning has more requests.
  const written = () => sockets.reduce((bytes, socket) => bytes + socket.bytesWritten, 0);
  const [beganAt, before] = [clock.now(), written()];
  server.resetCounts();
  for (let at = 0; at < 1000; at++) {
    call?.(at);
    await clock.advance(10);
  }
  expect(waiting.state.name).toBe('waiting');
  const requests = server.requests
    .filter(({ session: of }) => of?.id === session.credentials.id)
    .map(({ operation, paths, atMs }) => ({ operation, paths: paths.length, atMs: atMs - beganAt }));
  return { requests, bytes: written() - before };
}

describe('a job', () => {
  it('runs in the leader, in its term, and gives its result to the call; elsewhere the call resolves with undefined', async () => {
    const { one, two, term } = await openTwo();
    const runs: JobRun[] = [];
    const work = (run: JobRun) => {
      runs.push(run);
      return currentTerm();
    };
    const [inOne, inTwo] = [one.job({}, work), two.job({}, work)];
    expect(await inTwo(0)).toBeUndefined();
    expect(await inOne(0)).toBe(term);
    expect(await inOne(0)).toBeUndefined();
    expect(await inOne(1)).toBe(term);
    expect(runs[0]).toEqual({ scheduledFor: new Date(NOON), term, token: term.token, signal: term.signal });
    expect([one.ran, two.ran]).toEqual([[0, 1], []]);
  });

  it('takes the time of the call, or the one that it is given, rounded down to the second', async () => {
    const replica = await Replica.leading();
    const job = replica.jobs.job('job', ({ scheduledFor }) => scheduledFor.getTime() - NOON, {
      lateMs: HOUR,
    });
    replica.now = NOON + 1999;
    expect(await job('an argument', { date: 'no date' })).toBe(1000);
    expect(await job(new Date(NOON + 2500))).toBe(2000);
    expect(await job({ date: new Date(NOON + 3600) })).toBe(3000);
    const named = replica.jobs.job('named', ({ scheduledFor }) => scheduledFor.getTime() - NOON, {
      scheduledFor: (_, name) => new Date(NOON + Number(name)),
    });
    expect(await named('ignored', 7)).toBe(7);
  });

  it('refused the time of a scheduler that runs in another context of V8, as in Jest', async () => {
    const replica = await Replica.leading();
    const job = replica.jobs.job('job', ({ scheduledFor }) => scheduledFor.getTime() - NOON);
    expect(await job(runInNewContext(`new Date(${NOON})`))).toBe(0);
  });

  it('refuses a time that is none, in the leader and elsewhere', async () => {
    const { one, two } = await openTwo();
    for (const { jobs } of [one, two]) {
      const job = jobs.job('job', () => 'ran', { scheduledFor: () => new Date(Number.NaN) });
      await expect(job()).rejects.toThrow(/scheduledFor is .*a function that returns a valid Date/);
    }
  });

  it('gives its error to the call, and goes on with the next firing', async () => {
    const replica = await Replica.leading();
    const job = replica.job({}, ({ scheduledFor }) => {
      if (scheduledFor.getTime() === NOON) throw new Error('the disk is full');
    });
    await expect(job(0)).rejects.toThrow('the disk is full');
    await job(1);
    expect([replica.ran, replica.errors]).toEqual([[0, 1], []]);
  });

  it.each<[string, (signal: AbortSignal) => unknown]>([
    ['the reason of the signal', (signal) => signal.reason],
    ['an AbortError', () => new DOMException('aborted', 'AbortError')],
  ])('that rejects with %s after its term resolves the call with undefined', async (_, reason) => {
    const replica = await Replica.leading();
    const begun = deferred();
    const job = replica.job({}, async ({ signal }) => {
      begun.resolve();
      await aborted(signal);
      throw reason(signal);
    });
    const called = job(0);
    await begun.promise;
    await replica.elector.stop();
    expect(await called).toBeUndefined();
    expect(replica.errors).toEqual([]);
  });

  it('never runs beside itself: of the firings that come meanwhile, the latest runs, or all in their order', async () => {
    for (const missed of ['once', 'all'] as const) {
      const replica = await Replica.leading();
      const [begun, end] = [deferred(), deferred()];
      const job = replica.job({ missed }, () => {
        begun.resolve();
        return end.promise.then(() => 'ran');
      });
      const first = job(0);
      await begun.promise;
      const others = [job(2), job(1), job(3)];
      expect(replica.ran).toEqual([0]);
      end.resolve();
      expect(await first).toBe('ran');
      const results = await Promise.all(others);
      const once = { ran: [0, 3], results: [undefined, undefined, 'ran'] };
      const all = { ran: [0, 1, 2, 3], results: ['ran', 'ran', 'ran'] };
      expect({ ran: replica.ran, results }).toEqual(missed === 'once' ? once : all);
    }
  });

  it('runs a firing that comes in the step in which it finds that none waits', async () => {
    const replica = await Replica.leading();
    const job = replica.job();
    for (let at = 0; at < 100; at++) {
      await job(at);
      // After so many microtasks, the work of that call is at another step.
      for (let step = 0; step < at; step++) await Promise.resolve();
    }
    expect(replica.ran).toEqual(Array.from({ length: 100 }, (_, at) => at));
  });

  it('is the work of the leader: it ends before the next one leads', async () => {
    const { one, two } = await openTwo();
    const steps: string[] = [];
    const begun = deferred();
    const job = one.job({}, async ({ signal }) => {
      begun.resolve();
      await aborted(signal);
      await new Promise((ended) => setTimeout(ended, 100));
      steps.push('job ended');
    });
    two.elector.on('elected', () => void steps.push('elected'));
    const called = job(0);
    await begun.promise;
    await succeed({ one, two });
    await called;
    expect(steps).toEqual(['job ended', 'elected']);
  });
});

describe('a job that waits for itself', () => {
  it.each([
    ['from within itself', false],
    ['by another job that it waits for', true],
  ])('waited for ever when it was called %s, and so did the stop', async (_, isByAnother) => {
    const { one } = await openTwo();
    let called: Promise<unknown> | undefined;
    const job: (at: number) => Promise<unknown> = one.job({}, async () => {
      called ??= isByAnother ? other() : job(1);
      return await called;
    });
    const other = one.jobs.job('other', () => job(1));
    expect(await job(0)).toBeUndefined();
    await until(() => one.ran.length === 2);
    expect(one.ran).toEqual([0, 1]);
    await one.elector.stop();
  });

  it('never ran when two LeaderJobs of one election had a job of its name', async () => {
    const { jobs, elector } = await Replica.open(uniquePath('jobs'));
    jobs.job('job', () => 1);
    const others = new LeaderJobs(elector, { logger: SILENT });
    expect(() => others.job('job', () => 1)).toThrow(
      'a name that no other job of this election and `path` has',
    );
    new LeaderJobs(elector, { logger: SILENT, path: '/elsewhere' }).job('job', () => 1);
  });
});

describe('a time that a scheduler tells', () => {
  it('ran a firing twice, or never, if it had milliseconds or was shifted by a zone, as of node-cron 3', async () => {
    const { one, two } = await openTwo();
    const jobOf = ({ jobs, ran }: Replica) =>
      jobs.job('job', ({ scheduledFor }) => void ran.push(scheduledFor.getTime() - NOON));
    const [inOne, inTwo] = [jobOf(one), jobOf(two)];
    await inOne(new Date(NOON + 120));
    await inTwo(new Date(NOON + 640));
    for (const hours of [9, -5]) expect(await inOne(new Date(NOON + hours * HOUR))).toBeUndefined();
    const far = 'skipping a firing of a job: the time that its scheduler told is far from now';
    expect(one.errors).toEqual([far, far]);
    await succeed({ one, two });
    await inTwo(new Date(NOON + 1640));
    expect([one.ran, two.ran]).toEqual([[0], [SECOND]]);
  });

  it('named two firings of an interval of half a second alike, so that one of them did not run', async () => {
    const replica = await Replica.leading();
    const runs: number[] = [];
    const work = ({ scheduledFor }: JobRun) => void runs.push(scheduledFor.getTime() - NOON);
    const job = replica.jobs.job('job', work, { atLeastMs: 250 });
    const rounded = replica.jobs.job('rounded', () => 'ran');
    for (const at of [10, 490, 1020, 1500]) {
      replica.now = NOON + at;
      await job();
    }
    expect(runs).toEqual([10, 490, 1020, 1500]);
    expect([await rounded(), await rounded()]).toEqual(['ran', undefined]);
    expect(replica.logged.map(({ message }) => message)).toEqual([
      'skipping a firing of a job: another one waits already, or has the same time',
    ]);
  });
});

describe('a run that hangs', () => {
  it('let firings end without a word', async () => {
    const replica = await Replica.leading();
    const [begun, end] = [deferred(), deferred()];
    const job = replica.job({}, () => {
      begun.resolve();
      return end.promise;
    });
    const first = job(0);
    await begun.promise;
    const [second, third] = [job(1), job(2)];
    expect(await second).toBeUndefined();
    expect(replica.logged).toMatchObject([
      { level: 'warn', at: new Date(NOON + 1), runningSince: new Date(NOON) },
    ]);
    end.resolve();
    await Promise.all([first, third]);
  });

  it('has its signal aborted after maxRunMs, and its error goes to the call', async () => {
    const replica = await Replica.open(uniquePath('jobs'));
    const term = await replica.lead();
    const job = replica.job({ maxRunMs: 50 }, async ({ signal }) => {
      await aborted(signal);
      throw signal.reason;
    });
    await expect(job(0)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(term.isHeld()).toBe(true);
    expect(replica.errors).toEqual(['aborting the signal of a job: its run takes longer than maxRunMs']);
    const quick = replica.jobs.job(
      'quick',
      async ({ signal }) => {
        await replica.elector.resign();
        return signal.reason;
      },
      { maxRunMs: HOUR },
    );
    expect(await quick()).toBe(term.signal.reason);
  });
});

describe('a firing that came before the election', () => {
  it('runs in the next leader, unless the former one has run it, or it is too late', async () => {
    const { one, two } = await openTwo();
    const [inOne, inTwo] = [one.job(), two.job()];
    await inTwo(0);
    await inOne(0);
    await inTwo(5 * SECOND);
    two.now = NOON + 15 * SECOND;
    await succeed({ one, two });
    await until(() => two.ran.length === 1);
    expect([one.ran, two.ran]).toEqual([[0], [5 * SECOND]]);
    expect(await inTwo(5 * SECOND)).toBeUndefined();
    const late = await openTwo();
    await late.two.job()(5 * SECOND);
    late.two.now = NOON + 15 * SECOND + 1;
    await succeed(late);
    await until(() => late.two.logged.length === 1);
    expect(late.two.logged[0]).toMatchObject({
      level: 'warn',
      message: 'skipping a firing of a job: it is too late',
    });
    expect(late.two.ran).toEqual([]);
  });

  it('was too late after an ordinary takeover, if a takeover takes longer than 10 s', async () => {
    const server = await startEmbedded({ tickMs: 2000 });
    const path = uniquePath('jobs');
    const [one, two] = [
      await Replica.open(path, server.connectString, 40_000),
      await Replica.open(path, server.connectString, 40_000),
    ];
    await one.lead();
    await two.elector.start();
    const job = two.job();
    await job(0);
    two.now = NOON + 1.5 * two.elector.session.leaseMs;
    expect(two.now - NOON).toBeGreaterThan(15 * SECOND);
    await succeed({ one, two });
    await until(() => two.ran.length + two.logged.length > 0);
    expect([two.ran, two.logged]).toEqual([[0], []]);
  });

  it.each([
    ['once', [3]],
    ['all', [1, 2, 3]],
  ] as const)('runs as `missed` says: %s', async (missed, ran) => {
    const replicas = await openTwo();
    const job = replicas.two.job({ missed });
    for (const at of [1, 2, 3]) await job(at);
    await succeed(replicas);
    await until(() => replicas.two.ran.length === ran.length);
    await job(4);
    expect(replicas.two.ran).toEqual([...ran, 4]);
  });

  it('has its error in the log, because no call waits for it', async () => {
    const replicas = await openTwo();
    const job = replicas.two.job({}, () => Promise.reject(new Error('full')));
    await job(1);
    await succeed(replicas);
    await until(() => replicas.two.errors.length === 1);
    expect(replicas.two.errors).toEqual(['a job failed']);
  });
});

describe('an interval', () => {
  it('fires once in the period, whatever its phase in each replica', async () => {
    const replicas = await openTwo();
    const options = { atLeastMs: 30 * SECOND };
    const [inOne, inTwo] = [replicas.one.job(options), replicas.two.job(options)];
    await inOne(10 * SECOND);
    await inTwo(39 * SECOND);
    replicas.two.now = NOON + 40 * SECOND;
    await succeed(replicas);
    await inTwo(99 * SECOND);
    expect([replicas.one.ran, replicas.two.ran]).toEqual([[10 * SECOND], [99 * SECOND]]);
  });
});

describe('a run that was cut off', () => {
  it('runs again in the next leader with `recover`, however late, and without a call', async () => {
    const server = await startEmbedded();
    const { one, two, path } = await openTwo(server.connectString);
    const [begun, killed] = [deferred(), deferred()];
    onTestFinished(() => killed.resolve());
    const job = one.job({ recover: true }, () => {
      begun.resolve();
      return killed.promise; // It doesn't end before the test does, as in a process that is killed.
    });
    two.job({ recover: true });
    void job(0);
    await begun.promise;
    expect(JSON.parse(String(server.data(`${path}/cron/job`)))).toMatchObject({ at: NOON, open: true });
    two.now = NOON + HOUR;
    const elected = nextEvent(two.elector, 'elected');
    server.expireSession(({ id }) => id === one.elector.session.credentials.id);
    await elected;
    await until(() => two.ran.length === 1);
    expect(two.ran).toEqual([0]);
    await until(() => !String(server.data(`${path}/cron/job`)).includes('open'));
  });

  it.each([
    ['runs again if the job rejects after its signal has aborted', true, 1],
    ['does not if the job has failed before', false, 0],
  ])('%s', async (_, isAborted, runs) => {
    const { one, two } = await openTwo();
    const begun = deferred();
    const job = one.job({ recover: true }, async ({ signal }) => {
      begun.resolve();
      if (isAborted) await aborted(signal);
      throw new Error('cut off');
    });
    const inTwo = two.job({ recover: true });
    const called = expect(job(0)).rejects.toThrow('cut off');
    await begun.promise;
    if (!isAborted) await called;
    await succeed({ one, two });
    await called;
    await inTwo(1);
    expect(two.ran).toEqual(runs === 1 ? [0, 1] : [1]);
  });
});

describe('a run that ends its process', () => {
  it('ended each next leader, and gets three attempts', async () => {
    const server = await startEmbedded();
    const path = uniquePath('jobs');
    const replicas = await Promise.all(
      Array.from({ length: 5 }, () => Replica.open(path, server.connectString)),
    );
    const ends = deferred();
    onTestFinished(() => ends.resolve()); // Else the electors' stop() waits for it, and no failure is told.
    let begun = 0;
    for (const [index, { elector, job }] of replicas.entries()) {
      const fire = job.call(replicas[index] as Replica, { recover: true }, () => {
        begun++;
        return ends.promise; // It doesn't end before the test does, as in a process that is killed.
      });
      await eventAfter(elector, 'elected', () => elector.start());
      if (index === 0) void fire(0);
      const open = () => JSON.parse(String(server.data(`${path}/cron/job`))).open;
      if (index < 3) await until(() => begun === index + 1);
      else await until(() => open() === undefined);
      server.expireSession(({ id }) => id === elector.session.credentials.id);
    }
    expect(replicas.map(({ ran }) => ran.length)).toEqual([1, 1, 1, 0, 0]);
    expect(
      replicas.map(({ errors }) => errors.filter((each) => each.includes('not repeated again')).length),
    ).toEqual([0, 0, 0, 1, 0]);
  });

  it('does not count a run that the end of a term has cut off', async () => {
    const server = await startEmbedded();
    const { one, two, path } = await openTwo(server.connectString);
    const begun = deferred();
    const work = async ({ signal }: JobRun) => {
      begun.resolve();
      await aborted(signal);
      signal.throwIfAborted();
    };
    const called = one.job({ recover: true }, work)(0);
    await begun.promise;
    const record = () => JSON.parse(String(server.data(`${path}/cron/job`)));
    expect(record()).toMatchObject({ open: true, attempts: 1 });
    await succeed({ one, two });
    await called;
    expect(record()).toMatchObject({ open: true, attempts: 0 });
    expect(one.logged.map(({ message }) => message)).toEqual([
      'a run of a job was cut off by the end of the term',
    ]);
    two.job({ recover: true });
    await until(() => two.ran.length === 1);
    await until(() => record().open === undefined);
  });
});

describe('`next`', () => {
  const next = (after: Date) => new Date(Math.floor(after.getTime() / HOUR + 1) * HOUR);

  it('finds the firings that no replica has seen, and a firing that comes meanwhile waits for them', async () => {
    const { one, two } = await openTwo();
    await one.job()(0);
    const job = two.job({ missed: 'all', lateMs: 20 * HOUR, next });
    two.now = NOON + 23.5 * HOUR;
    await succeed({ one, two });
    await job(24 * HOUR);
    const hours = Array.from({ length: 20 }, (_, hour) => (hour + 4) * HOUR);
    expect(two.ran).toEqual([...hours, 24 * HOUR]);
  });

  it('is not asked about a job that has never run', async () => {
    const replica = await Replica.open(uniquePath('jobs'));
    const job = replica.job({ missed: 'all', lateMs: HOUR, next });
    await replica.lead();
    await job(0);
    expect(replica.ran).toEqual([0]);
  });

  it('did not find the firings of an outage before the first run of a job', async () => {
    const { one, two } = await openTwo();
    one.now = NOON + SECOND;
    one.job({ missed: 'all', lateMs: 30 * HOUR, next });
    const job = two.job({ missed: 'all', lateMs: 30 * HOUR, next });
    await one.jobs.job('other', () => 1)(); // The election has been noted when a call comes back.
    two.now = NOON + 2.5 * HOUR;
    await succeed({ one, two });
    await job(3 * HOUR);
    expect(two.ran).toEqual([1, 2, 3].map((hour) => hour * HOUR));
  });

  it('that fails keeps no firing from running', async () => {
    const replicas = await openTwo();
    await replicas.one.job()(0);
    const job = replicas.two.job({ next: () => new Date(0) });
    await succeed(replicas);
    await job(1);
    expect(replicas.two.ran).toEqual([1]);
    expect(replicas.two.errors).toEqual(['next() of a job failed: missed firings may not be found']);
  });
});

describe('the run log', () => {
  it.each<[string, JobOptions]>([
    ['by default', {}],
    ['with all options', { missed: 'all', recover: true, next: (after) => new Date(after.getTime() + 10) }],
  ])('costs nothing in a replica that waits: not a request, not a byte, %s', async (_, options) => {
    const without = await sentByWaiting(() => undefined);
    const calls: Promise<unknown>[] = [];
    const withJobs = await sentByWaiting((waiting) => {
      const jobs = new LeaderJobs(waiting, { logger: SILENT });
      const each = Array.from({ length: 100 }, (_, at) =>
        jobs.job(`${at}`, () => expect.unreachable(), options),
      );
      return (at) => void calls.push(each[at % 100]?.() as Promise<unknown>);
    });
    expect(await Promise.all(calls)).toEqual(Array(1000).fill(undefined));
    expect(withJobs).toEqual(without);
    expect(without.requests.length).toBeGreaterThan(10); // Its heartbeats.
  });

  it.each([
    ['one transaction for each run', {}, 10],
    ['two with `recover`', { recover: true }, 20],
  ])('costs one read in a term, and %s', async (_, options, transactions) => {
    const server = await startEmbedded();
    const { one, two, path } = await openTwo(server.connectString);
    const [inOne, inTwo] = [one.job(options), two.job(options)];
    await inOne(0);
    await succeed({ one, two });
    const before = server.requests.length;
    for (let at = 1; at <= 10; at++) await Promise.all([inTwo(at), inTwo(at)]);
    // A heartbeat is a transaction, too.
    const ofLog = server.requests.slice(before).filter(({ paths }) => paths.includes(`${path}/cron/job`));
    const count = (kind: string) => ofLog.filter(({ operation }) => operation === kind).length;
    expect([ofLog.length, count('multi'), count('getData')]).toEqual([transactions + 1, transactions, 1]);
  });

  it('loses its note when the leader resigns between the note and the run, and the next leader runs the firing', async () => {
    const server = await startEmbedded();
    const { one, two, path } = await openTwo(server.connectString);
    const [inOne, inTwo] = [one.job(), two.job()];
    await inOne(0);
    await inTwo(1);
    server.delay(100, { only: 'multi' });
    const called = inOne(1);
    await until(() => JSON.parse(String(server.data(`${path}/cron/job`))).at === NOON + 1);
    server.clearFaults();
    await succeed({ one, two });
    expect(await called).toBeUndefined();
    await until(() => two.ran.length === 1);
    expect([one.ran, two.ran]).toEqual([[0], [1]]);
  });

  it('lost a firing without a word when the reply to its note was lost, and then the term', async () => {
    const server = await startEmbedded();
    const { one, path } = await openTwo(server.connectString);
    const job = one.job();
    await job(0);
    server.swallowReply('multi', { path: `${path}/cron/job`, times: 1 });
    const called = job(1);
    await until(() => JSON.parse(String(server.data(`${path}/cron/job`))).at === NOON + 1);
    const { id: own } = one.elector.session.credentials;
    server
      .sessions()
      .find(({ id }) => id === own)
      ?.partition();
    expect(await called).toBeUndefined();
    expect(one.logged.map(({ level, message }) => [level, message])).toContainEqual([
      'warn',
      'a firing may be lost: the term ended before the servers answered to its note',
    ]);
  });

  it('counts a note whose reply is lost', async () => {
    const server = await startEmbedded();
    const { one, path } = await openTwo(server.connectString);
    const job = one.job();
    await job(0);
    const fault = server.swallowReply('multi', { path: `${path}/cron/job`, times: 1 });
    await job(1);
    expect([one.ran, fault.hits]).toEqual([[0, 1], 1]);
  });

  it('notes the end of a run again when a server has not taken the note', async () => {
    const server = await startEmbedded();
    const { one, path } = await openTwo(server.connectString);
    const log = `${path}/cron/job`;
    const job = one.job({ recover: true }, () => {
      server.failWith('BAD_VERSION', { operation: 'multi', path: log, times: 1 });
    });
    await job(0);
    expect(JSON.parse(String(server.data(log)))).not.toHaveProperty('open');
  });

  it('is refused by the servers: the firing does not run, and the log says so', async () => {
    const server = await startEmbedded();
    const { one, path } = await openTwo(server.connectString);
    const job = one.job();
    await job(0);
    server.failWith('NO_AUTH', { operation: 'multi', path: `${path}/cron/job`, times: 1 });
    expect(await job(1)).toBeUndefined();
    await job(2);
    expect(one.ran).toEqual([0, 2]);
    expect(one.errors).toEqual(['a firing of a job is not run: it could not be noted']);
  });

  it('does not let a host with a wrong clock keep a job from running', async () => {
    const replica = await Replica.leading();
    const job = replica.job();
    for (const at of [365 * 24 * HOUR, 0, 1]) await job(at);
    expect(replica.ran).toEqual([365 * 24 * HOUR, 0, 1]);
    expect(replica.logged).toMatchObject([
      { level: 'warn', message: 'the last run of a job is in the future' },
    ]);
  });
});

it('a job that returns a value did not compile with croner and cron', async () => {
  const replica = await Replica.leading();
  const job = replica.jobs.job('job', () => 7);
  const cron = new Cron('* * * * *', { paused: true, catch: true }, job);
  const onTick = CronJob.from({ cronTime: '* * * * *', onTick: job });
  cron.stop();
  expect(onTick.isActive).toBe(false);
  const result: number | undefined = await job();
  expect(result).toBe(7);
});

it('a job refuses wrong options, names and elections', async () => {
  const { jobs } = await Replica.open(uniquePath('jobs'));
  const refused = (call: () => unknown) => {
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  };
  refused(() => new LeaderJobs({ term: undefined } as never));
  const make = (name: string, options?: object) => jobs.job(name, () => 1, options as JobOptions);
  refused(() => make(''));
  refused(() => make(undefined as never));
  refused(() => jobs.job('x', 1 as never));
  refused(() => make('x', { lateMs: 367 * 24 * HOUR }));
  make('x');
  refused(() => make('x'));
});
