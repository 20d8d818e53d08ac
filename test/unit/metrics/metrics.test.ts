import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../../src/cluster/supervisor/election-supervisor.js';
import type { ElectionSupervisorOptions } from '../../../src/cluster/supervisor/election-supervisor-options.js';
import { LeaderElector } from '../../../src/election/leader-elector.js';
import { InvalidOptionError, InvalidStateError } from '../../../src/errors.js';
import { LeaderJobs } from '../../../src/jobs/leader-jobs.js';
import type { Meter, Tracer } from '../../../src/metrics/export/open-telemetry.js';
import { type MetricsSource, metrics } from '../../../src/metrics/metrics.js';
import { resizeGroup } from '../../../src/shards/read-and-resize-group.js';
import { A_WHILE_MS, PATHS } from '../../support/conclave/group-members.js';
import { startSupervisors } from '../../support/conclave/shard-supervisors.js';
import { eventAfter, nextEvent } from '../../support/events.js';
import { ask } from '../../support/metrics.js';
import { sessionAt, startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../../support/silent-logger.mjs';
import { deferred } from '../../support/waiting.mjs';

const PATH = '/app/election';
const TIMES = { sessionTimeoutMs: 10_000, leaseMs: 2000 };

/** Starts candidates of one election, with their metrics, on a clock that only the test moves. */
async function startElection() {
  const { clock, server, open } = await startWithTestClock();
  const measure = (...sources: MetricsSource[]) => {
    const measured = metrics(sources);
    onTestFinished(() => measured.close());
    return measured;
  };
  const make = (id: string, options: Partial<ElectionSupervisorOptions> = {}) => {
    const supervisor = new ElectionSupervisor({
      ...{ connect: server.connectString, path: PATH, id, logger: SILENT },
      session: { ...TIMES, environment: clock.environment },
      ...options,
    });
    onTestFinished(async () => {
      server.heal();
      await clock.advanceUntil(supervisor.stop());
    });
    return supervisor;
  };
  const start = async (id: string, options: Partial<ElectionSupervisorOptions> = {}) => {
    const supervisor = make(id, options);
    const measured = measure(supervisor);
    await clock.advanceUntil(supervisor.start());
    const session = await supervisor.session();
    const atServer = sessionAt(server, session);
    return { supervisor, measured, session, atServer };
  };
  const elector = async (id: string) => {
    const session = await open(TIMES);
    const made = new LeaderElector(session, PATH, { id });
    const measured = measure(made);
    await clock.advanceUntil(made.start());
    onTestFinished(() => clock.advanceUntil(made.stop()));
    const atServer = sessionAt(server, session);
    return { elector: made, session, measured, atServer };
  };
  return { clock, server, open, make, start, elector, measure };
}

const demoted = { to: 'demoted' };

/** Counts what a meter records, and the spans that a tracer begins. */
function counters() {
  let records = 0;
  let callbacks = 0;
  let spans = 0;
  const instrument = () => ({ record: () => void records++ });
  const meter = {
    createHistogram: instrument,
    createObservableGauge: instrument,
    createObservableCounter: instrument,
    addBatchObservableCallback: () => void callbacks++,
    removeBatchObservableCallback: () => void callbacks--,
  } as Meter;
  const span = { setAttribute: () => undefined, setStatus: () => undefined, end: () => undefined };
  const tracer = {
    startSpan: () => {
      spans++;
      return { ...span, recordException: () => undefined };
    },
  } as unknown as Tracer;
  return { meter, tracer, counts: () => ({ records, callbacks, spans }) };
}

it('the metrics that are instrumented twice are exported once by the same meter and the same tracer', async () => {
  const { clock, start } = await startElection();
  const [once, twice] = [counters(), counters()];
  const { supervisor, measured } = await start('one');
  measured.instrument({ meter: once.meter, tracer: once.tracer });
  for (let times = 0; times < 2; times++) measured.instrument({ meter: twice.meter, tracer: twice.tracer });
  await clock.advanceUntil(() => supervisor.isLeader);
  await clock.advance(A_WHILE_MS);
  expect(once.counts().records).toBeGreaterThan(0);
  expect(once.counts().spans).toBeGreaterThan(0);
  expect(twice.counts()).toEqual(once.counts());
  measured.close();
  expect(twice.counts().callbacks).toBe(0);
});

it('the metrics of jobs said nothing of a run that hung, and of firings that were not run', async () => {
  const { clock, start, measure } = await startElection();
  const { supervisor } = await start('a');
  await clock.advanceUntil(() => supervisor.isLeader);
  const jobs = new LeaderJobs(supervisor, { logger: SILENT });
  const [measured, run] = [measure(jobs), deferred()];
  const job = jobs.job('backup', () => run.promise, { scheduledFor: (at) => at as Date });
  const now = clock.date().getTime();
  const running = job(new Date(now - 2000));
  await clock.advance(3000);
  const others = [job(new Date(now + 1000)), job(new Date(now + 2000))];
  const during = await ask(measured);
  expect(during('conclave_job_running_seconds', { election: PATH, id: 'a', job: 'backup' })).toBeCloseTo(
    3,
    1,
  );
  expect(during('conclave_job_firings_total', { outcome: 'superseded' })).toBe(1);
  expect(during('conclave_job_firings_total', { outcome: 'succeeded' })).toBe(0);
  run.resolve();
  await clock.advanceUntil(Promise.all([running, ...others]));
  const after = await ask(measured);
  expect(after('conclave_job_running_seconds')).toBe(0);
  expect(after('conclave_job_firings_total', { outcome: 'succeeded' })).toBe(2);
  expect(after('conclave_job_duration_seconds_count')).toBe(2);
  expect(after('conclave_job_lateness_seconds_bucket', { le: '1' })).toBe(1);
});

describe('the metrics of an election', () => {
  it('say who leads, in which term, by which lease, and who waits where', async () => {
    const { clock, start, elector } = await startElection();
    const first = await start('a');
    const second = await elector('b');
    await clock.advance(A_WHILE_MS);
    const [a, b] = [await ask(first.measured), await ask(second.measured)];
    expect([a('conclave_leader'), b('conclave_leader')]).toEqual([1, 0]);
    expect(a('conclave_leader', { election: PATH, id: 'a' })).toBe(1);
    expect(a('leader_election_master_status', { name: PATH })).toBe(1);
    expect([a('conclave_term'), b('conclave_term')]).toEqual([1, 0]);
    expect(a('conclave_lease_remaining_seconds')).toBeGreaterThan(1);
    expect(b('conclave_lease_remaining_seconds')).toBe(0);
    expect(a('conclave_proof_age_seconds')).toBeLessThanOrEqual(0.5);
    expect(b('conclave_proof_age_seconds')).toBeUndefined();
    expect([a('conclave_queue_position'), b('conclave_queue_position')]).toEqual([0, 1]);
    expect([a('conclave_queue_length'), b('conclave_queue_length')]).toEqual([2, undefined]);
    expect([a('conclave_wedged'), b('conclave_wedged')]).toEqual([0, 0]);
    expect(a('conclave_session_state', { state: 'connected' })).toBe(1);
    expect(a('conclave_session_state', { state: 'expired' })).toBe(0);
    expect(a('conclave_heartbeat_latency_seconds_count')).toBeGreaterThan(0);
    expect(a('conclave_transitions_total', { to: 'elected', reason: 'vacant' })).toBe(1);
    expect(b('conclave_transitions_total', { to: 'waiting' })).toBe(1);
  });

  it('tell a handover from a failover, and how long each took', async () => {
    const { clock, start, elector } = await startElection();
    const first = await start('a');
    const second = await elector('b');
    const third = await start('c');
    await clock.advance(A_WHILE_MS);
    await eventAfter(second.elector, 'elected', () => clock.advanceUntil(first.supervisor.resign()));
    const b = await ask(second.measured);
    expect(b('conclave_leader')).toBe(1);
    expect(b('conclave_transitions_total', { to: 'elected', reason: 'handover' })).toBe(1);
    expect(b('conclave_handover_duration_seconds_count')).toBe(1);
    expect(b('conclave_failover_duration_seconds_count')).toBeUndefined();
    expect(
      (await ask(first.measured))('conclave_transitions_total', { ...demoted, reason: 'resigned' }),
    ).toBe(1);

    await clock.advance(A_WHILE_MS);
    const silentAt = clock.now();
    const elected = nextEvent(third.supervisor, 'elected');
    second.atServer.partition();
    await clock.advanceUntil(elected);
    const c = await ask(third.measured);
    expect(c('conclave_leader')).toBe(1);
    expect(c('conclave_transitions_total', { to: 'elected', reason: 'failover' })).toBe(1);
    expect(c('conclave_takeover_waits_total')).toBe(1);
    expect(c('conclave_failover_duration_seconds_count')).toBe(1);
    const tookMs = 1000 * (c('conclave_failover_duration_seconds_sum') ?? 0);
    expect(tookMs).toBeGreaterThan(TIMES.leaseMs);
    expect(tookMs).toBeLessThanOrEqual(clock.now() - silentAt + TIMES.leaseMs / 2);
  });

  it('say that a leader is wedged whose work outlasts its lease, and count that', async () => {
    const { clock, server, start } = await startElection();
    const work = deferred();
    const { supervisor, measured } = await start('a', { lead: () => work.promise });
    await clock.advance(A_WHILE_MS);
    server.partition();
    await clock.advance(2 * TIMES.leaseMs);
    const wedged = await ask(measured);
    expect([wedged('conclave_wedged'), wedged('conclave_leader')]).toEqual([1, 0]);
    expect(wedged('conclave_overruns_total')).toBe(1);
    expect(wedged('conclave_errors_total', { code: 'WORK_OVERRUN' })).toBe(1);
    expect(wedged('conclave_transitions_total', { ...demoted, reason: 'lease-expired' })).toBe(1);
    expect(wedged('conclave_queue_position')).toBeUndefined();
    server.heal();
    work.resolve();
    await clock.advanceUntil(nextEvent(supervisor, 'elected'));
    expect((await ask(measured))('conclave_wedged')).toBe(0);
  });
});

describe('the metrics of a supervisor', () => {
  it('go on over the end of a session, each series once, with what the clean-up hook did', async () => {
    const { clock, start } = await startElection();
    let calls = 0;
    const { supervisor, measured, atServer, session } = await start('a', {
      cleanup: () => {
        calls++;
        if (calls === 1) throw new Error('the cache is locked');
      },
    });
    await clock.advance(A_WHILE_MS);
    const beats = (await ask(measured))('conclave_heartbeat_latency_seconds_count') as number;
    await clock.advanceUntil(eventAfter(supervisor, 'elected', () => atServer.expire()));
    await clock.advance(A_WHILE_MS);
    const now = await ask(measured);
    expect(now('conclave_leader')).toBe(1);
    expect(now('conclave_term')).toBe(2);
    for (const to of ['expired', 'cleaned', 'restarting'])
      expect(now('conclave_transitions_total', { to })).toBe(1);
    expect(now('conclave_hook_failures_total')).toBe(1);
    expect(now('conclave_hook_duration_seconds_count')).toBe(2);
    expect(now('conclave_errors_total', { code: 'CLEANUP_ATTEMPT_FAILED' })).toBe(1);
    expect(now('conclave_session_state', { state: 'connected' })).toBe(1);
    expect(now('conclave_heartbeat_latency_seconds_count')).toBeGreaterThan(beats);
    expect(session.isTapped).toBe(false);
  });

  it('count the reconnections of its session', async () => {
    const { clock, start } = await startElection();
    const { measured, atServer, session } = await start('a');
    const suspended = nextEvent(session, 'suspended');
    atServer.dropConnection();
    await suspended;
    const meanwhile = await ask(measured);
    expect(meanwhile('conclave_session_state', { state: 'suspended' })).toBe(1);
    expect(meanwhile('conclave_reconnects_total')).toBe(0);
    await clock.advanceUntil(nextEvent(session, 'resumed'));
    expect((await ask(measured))('conclave_reconnects_total')).toBe(1);
  });

  it('can be asked for before it was started and after it has stopped, and until it is closed', async () => {
    const { clock, make, measure } = await startElection();
    const supervisor = make('a');
    const measured = measure(supervisor);
    const unstarted = await ask(measured);
    expect(unstarted('conclave_leader')).toBe(0);
    expect(unstarted('conclave_session_state', { state: 'connected' })).toBe(0);
    await clock.advanceUntil(supervisor.start());
    await clock.advanceUntil(supervisor.stop());
    const stopped = await ask(measured);
    expect(stopped('conclave_leader')).toBe(0);
    expect(stopped('conclave_transitions_total', { to: 'stopped' })).toBe(1);
    expect(stopped('conclave_session_state', { state: 'closed' })).toBe(1);
    measured.close();
    await expect(measured.text()).rejects.toBeInstanceOf(InvalidStateError);
    expect(() => measured.register({} as never)).toThrow(InvalidStateError);
    expect(() => measured.instrument({})).toThrow(InvalidStateError);
    measured.close();
  });

  it('are those of both, if another one with its id comes after it', async () => {
    const { clock, make, measure } = await startElection();
    const [former, latter] = [make('a'), make('a')];
    const measured = measure(former, latter, latter);
    await clock.advanceUntil(former.start());
    await clock.advanceUntil(former.stop());
    await clock.advanceUntil(latter.start());
    const now = await ask(measured);
    expect(now('conclave_leader')).toBe(1);
    expect(now('conclave_transitions_total', { to: 'elected', reason: 'vacant' })).toBe(2);
    const series = (await measured.text()).split('\n').filter((line) => /^\w/.test(line));
    expect(new Set(series.map((line) => line.split(' ')[0])).size).toBe(series.length);
  });
});

describe('what is measured', () => {
  it('costs nothing before it is asked for and after it is closed: nothing is tapped, and no listener is added', async () => {
    const { clock, make } = await startElection();
    const supervisor = make('a');
    await clock.advanceUntil(supervisor.start());
    const session = await supervisor.session();
    const { elector } = supervisor.candidacy ?? {};
    const tapped = () => [supervisor, session, elector].map((each) => each?.isTapped);
    const listeners = () =>
      (['error', 'elected', 'demoted', 'expired', 'stopped'] as const).map((event) => [
        supervisor.listenerCount(event),
        elector?.listenerCount(event),
      ]);
    const before = listeners();
    expect(tapped()).toEqual([false, false, false]);
    const [first, second] = [metrics(supervisor), metrics(supervisor)];
    expect(tapped()).toEqual([true, true, true]);
    expect(listeners()).toEqual(before);
    first.close();
    expect(tapped()).toEqual([true, true, true]);
    expect((await ask(second))('conclave_leader')).toBe(1);
    second.close();
    expect(tapped()).toEqual([false, false, false]);
    expect(listeners()).toEqual(before);
  });

  it('is counted by each from its own beginning', async () => {
    const { clock, start, measure } = await startElection();
    const { supervisor, measured } = await start('a');
    await clock.advance(A_WHILE_MS);
    const later = measure(supervisor);
    expect((await ask(measured))('conclave_transitions_total', { to: 'elected' })).toBe(1);
    expect((await ask(later))('conclave_transitions_total', { to: 'elected' })).toBeUndefined();
    expect((await ask(later))('conclave_term')).toBe(1);
  });

  it('is nothing but supervisors, electors and clusters of this copy', async () => {
    const { make } = await startElection();
    expect(() => metrics({} as never)).toThrow(InvalidOptionError);
    expect(() => metrics(undefined as never)).toThrow('source is undefined: expected an ElectionSupervisor');
    expect(() => metrics([make('a'), 'b'] as never)).toThrow('source is "b"');
    const foreign = Object.create(
      {},
      {
        [Symbol.for('conclave.class')]: { value: { name: 'ElectionSupervisor', copy: { version: '0.0.1' } } },
      },
    );
    expect(() => metrics(foreign)).toThrow('an ElectionSupervisor of another copy of conclave (0.0.1)');
    const none = metrics([]);
    expect(await none.text()).toBe('');
    expect(() => none.register({} as never)).toThrow('a Registry of prom-client 13 or later');
    expect(() => none.instrument({})).toThrow('a meter, a tracer or both');
    expect(() => none.instrument({ meter: {} as never })).toThrow(
      'a Meter of @opentelemetry/api 1.3 or later',
    );
    expect(() => none.instrument({ tracer: {} as never })).toThrow('a Tracer of @opentelemetry/api');
  });
});

it('a registry that does not await the values of its metrics is refused, and stays as it was', async () => {
  const registered = new Map<string, { get(): { name: string } }>();
  // As of prom-client 12, which looks for the name in the promise of the values.
  const registry = {
    registerMetric: (metric: { name: string; get(): { name: string } }) =>
      void registered.set(metric.name, metric),
    getSingleMetric: (name: string) => registered.get(name),
    getSingleMetricAsString: (name: string) => registered.get(name)?.get().name.replaceAll('\\', ''),
    removeSingleMetric: (name: string) => void registered.delete(name),
  };
  using measured = metrics([]);
  const refused = 'a Registry of prom-client 13 or later, and this one is of an earlier version';
  expect(() => measured.register(registry as never)).toThrow(refused);
  expect(registered.size).toBe(0);
  const fillsIn = { ...registry, getSingleMetricAsString: () => '# HELP ' };
  expect(() => measured.register(fillsIn as never)).toThrow(refused);
  expect(registered.size).toBe(0);
});

describe('the metrics of a group of shards', () => {
  it('say what each member owns, who plans, and what has moved', async () => {
    const { clock, make, start } = await startSupervisors();
    const first = await start('a');
    using a = metrics(first.supervisor);
    await clock.advance(A_WHILE_MS);
    const second = make('b');
    using b = metrics(second.supervisor);
    await clock.advanceUntil(second.supervisor.start());
    onTestFinished(() => clock.advanceUntil(second.supervisor.stop()));
    await clock.advance(A_WHILE_MS);
    const [of, other] = [await ask(a), await ask(b)];
    expect([of('conclave_shards_owned'), other('conclave_shards_owned')]).toEqual([4, 4]);
    expect(of('conclave_shards_owned', { group: '/group', id: 'a' })).toBe(4);
    expect([of('conclave_shards'), other('conclave_shards')]).toEqual([8, 8]);
    expect([of('conclave_planner'), other('conclave_planner')]).toEqual([1, 0]);
    expect([of('conclave_shards_lacking'), of('conclave_shards_stuck')]).toEqual([0, 0]);
    expect(of('conclave_shard_moves_total')).toBe(4);
    expect(of('conclave_shard_transitions_total', { to: 'released', reason: 'moved' })).toBe(4);
    expect(other('conclave_shard_transitions_total', { to: 'acquired' })).toBe(4);
    expect(of('conclave_proof_age_seconds')).toBeLessThanOrEqual(0.5);
    expect(of('conclave_session_state', { state: 'connected' })).toBe(1);
    expect(of('conclave_heartbeat_latency_seconds_count')).toBeGreaterThan(0);
  });

  it('say how many shards the group has, also after a change, and when no process is a member any more', async () => {
    const { clock, open, start } = await startSupervisors();
    const cleaning = deferred();
    const member = await start('a', { cleanup: () => cleaning.promise });
    using measured = metrics(member.supervisor);
    await clock.advance(A_WHILE_MS);
    const counts = async () => {
      const now = await ask(measured);
      return [now('conclave_shards'), now('conclave_shards_owned')];
    };
    expect(await counts()).toEqual([8, 8]);
    await clock.advanceUntil(resizeGroup(await open(), PATHS, 12));
    await clock.advance(A_WHILE_MS);
    expect(await counts()).toEqual([12, 12]);
    member.expire();
    await clock.advance(A_WHILE_MS);
    expect(await counts()).toEqual([12, 0]);
    cleaning.resolve();
    await clock.advanceUntil(member.supervisor.stop());
    expect(await counts()).toEqual([undefined, 0]);
  });

  it('do not say how many shards the group has before the process has joined it', async () => {
    const { make } = await startSupervisors();
    using measured = metrics(make('a').supervisor);
    expect((await ask(measured))('conclave_shards')).toBeUndefined();
  });

  it('go on over the end of a session', async () => {
    const { clock, start } = await startSupervisors();
    const member = await start('a', { cleanup: () => undefined });
    using measured = metrics(member.supervisor);
    await clock.advance(A_WHILE_MS);
    member.expire();
    await clock.advanceUntil(nextEvent(member.supervisor, 'acquired'));
    await clock.advance(A_WHILE_MS);
    const now = await ask(measured);
    expect(now('conclave_shards_owned')).toBe(8);
    expect(now('conclave_shard_transitions_total', { to: 'lost', reason: 'session-expired' })).toBe(8);
    for (const to of ['expired', 'cleaned', 'restarting'])
      expect(now('conclave_transitions_total', { to })).toBe(1);
    expect(now('conclave_hook_duration_seconds_count')).toBe(1);
  });
});
