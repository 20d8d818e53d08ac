import { createServer } from 'node:http';
import { SpanStatusCode } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { AggregatorRegistry, Gauge, type OpenMetricsContentType, Registry } from 'prom-client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { instrumentName } from '../../src/metrics/export/open-telemetry.js';
import { registerWith } from '../../src/metrics/export/prom-client.js';
import { metrics } from '../../src/metrics/index.js';
import { FAMILY_NAMES, type FamilyName } from '../../src/metrics/model/metric-families.js';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import { lead } from '../support/conclave/electors.js';
import { openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { listening } from '../support/listening.js';
import { lookUp, parseText } from '../support/metrics.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { SILENT } from '../support/silent-logger.mjs';
import { endsWithTest } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

/** Starts an elector that leads, with its metrics. */
async function startMeasured(id = 'one') {
  const { session, path } = await openWithPath('metrics');
  const elector = new LeaderElector(session, path, { id });
  const measured = endsWithTest(metrics(elector));
  onTestFinished(() => elector.stop());
  await eventAfter(elector, 'elected', () => elector.start());
  return { path, session, elector, measured };
}

/** Starts an elector that leads, with its metrics in a registry of prom-client. */
async function startRegistered() {
  const started = await startMeasured();
  const registry = new Registry();
  started.measured.register(registry);
  return { ...started, registry, look: async () => lookUp(parseText(await registry.metrics())) };
}

/** What a registry gathers from two workers that both have the metrics of this one. */
async function gatheredTwice(registry: Registry) {
  const ofWorker = await registry.getMetricsAsJSON();
  return lookUp(parseText(await AggregatorRegistry.aggregate([ofWorker, ofWorker] as never).metrics()));
}

/** Starts a supervisor of one election on a server of its own, which can end the supervisor's session. */
async function startSupervised(cleanup?: () => void) {
  const server = await startEmbedded();
  const supervisor = new ElectionSupervisor({
    ...{ connect: server.connectString, path: '/app/election', id: 'one', logger: SILENT },
    retry: { minTimeout: 1, maxTimeout: 1 },
    cleanup: cleanup ?? (() => undefined),
  });
  const measured = endsWithTest(metrics(supervisor));
  onTestFinished(() => supervisor.stop());
  const start = async () => {
    await eventAfter(supervisor, 'elected', () => supervisor.start());
  };
  return { server, supervisor, measured, start };
}

describe('a registry of prom-client', () => {
  it('says what text() says, beside the metrics of the application', async () => {
    const { path, measured } = await startMeasured();
    const registry = new Registry();
    const own = new Gauge({ name: 'own_metric', help: 'of the application', registers: [registry] });
    own.set(7);
    measured.register(registry);
    const text = await registry.metrics();
    const found = lookUp(parseText(text));
    expect(found('own_metric')).toBe(7);
    expect(found('conclave_leader', { election: path, id: 'one' })).toBe(1);
    expect(found('conclave_transitions_total', { to: 'elected', reason: 'vacant' })).toBe(1);
    const steady = ([series]: [string, number]) => !/seconds|heartbeat|own_metric/.test(series);
    const expected = [...parseText(await measured.text())].filter(steady);
    expect([...parseText(text)].filter(steady).sort()).toEqual(expected.sort());
    const json = await registry.getMetricsAsJSON();
    expect(json.find(({ name }) => name === 'conclave_term')).toMatchObject({
      values: [{ value: 1, labels: { election: path, id: 'one' } }],
    });
  });

  it('has the buckets of histograms as its own ones have them', async () => {
    const { registry } = await startRegistered();
    const name = 'conclave_heartbeat_latency_seconds';
    let all = new Map<string, number>();
    await until(async () => {
      all = parseText(await registry.metrics());
      return lookUp(all)(`${name}_count`) !== undefined;
    }, 'a heartbeat');
    const buckets = [...all].filter(([series]) => series.startsWith(`${name}_bucket`));
    expect(buckets).toHaveLength(12);
    const counts = buckets.map(([, count]) => count);
    expect([...counts].sort((a, b) => a - b)).toEqual(counts);
    expect(lookUp(all)(`${name}_count`)).toBe(counts.at(-1));
  });

  it('registers each metric once, for as many supervisors as there are one after the other', async () => {
    const { registry, look, ...first } = await startRegistered();
    first.measured.register(registry);
    await first.elector.stop();
    const second = await startMeasured('second');
    second.measured.register(registry);
    const both = await look();
    expect(both('conclave_leader', { id: 'one' })).toBe(0);
    expect(both('conclave_leader', { id: 'second' })).toBe(1);
    first.measured.close();
    expect((await look())('conclave_leader')).toBe(1);
    second.measured.close();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });

  it('adds up over workers what can be added up, and no facts about the election', async () => {
    const { registry } = await startRegistered();
    const found = await gatheredTwice(registry);
    expect(found('conclave_leader', { id: 'one' })).toBe(2);
    for (const name of ['conclave_term', 'conclave_queue_length'])
      expect([name, found(name, { id: 'one' })]).toEqual([name, 1]);
  });

  it('takes the longest stall and the longest run of all workers, and no sum of them', async () => {
    const registry = new Registry();
    const labels = { election: '/a', id: 'one' };
    const of = (name: FamilyName, value: number) => [name, [{ labels, value }]] as const;
    registerWith(registry, async () => {
      return new Map([of('conclave_longest_stall_seconds', 3), of('conclave_job_running_seconds', 7)]);
    });
    const found = await gatheredTwice(registry);
    expect(found('conclave_longest_stall_seconds')).toBe(3);
    expect(found('conclave_job_running_seconds')).toBe(7);
  });

  it('adds up over workers the shards that they own, and not those that their group has', async () => {
    const { connectString: connect } = await startEmbedded();
    const supervisor = new ShardSupervisor({
      ...{ connect, path: '/app/orders', id: 'one', shards: 4, logger: SILENT },
      run: () => undefined,
    });
    const measured = endsWithTest(metrics(supervisor));
    onTestFinished(() => supervisor.stop());
    await supervisor.start();
    await until(() => supervisor.owned.size === 4, 'all shards');
    const registry = new Registry();
    measured.register(registry);
    const found = await gatheredTwice(registry);
    expect(found('conclave_shards', { id: 'one' })).toBe(4);
    expect(found('conclave_shards_owned', { id: 'one' })).toBe(8);
  });

  it('that was cleared can be given again', async () => {
    const { measured, registry, look } = await startRegistered();
    registry.clear();
    measured.register(registry);
    expect((await look())('conclave_leader')).toBe(1);
  });

  it('that has another metric of such a name refuses all, and keeps none', async () => {
    const { measured } = await startMeasured();
    const registry = new Registry();
    new Gauge({ name: 'conclave_queue_length', help: "another one's", registers: [registry] });
    expect(() => measured.register(registry)).toThrow('has already been registered');
    expect(registry.getMetricsAsArray().map(({ name }) => name)).toEqual(['conclave_queue_length']);
  });

  it('for OpenMetrics gets names that it makes right', async () => {
    const { measured } = await startMeasured();
    const registry = new Registry<OpenMetricsContentType>();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    measured.register(registry);
    const text = await registry.metrics();
    expect(text).toContain('# TYPE conclave_transitions counter\n');
    expect(text).toMatch(/^conclave_transitions_total\{.*\} 1$/m);
    expect(text).not.toContain('_total_total');
    measured.close();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });
});

/** Starts a meter that collects what OpenTelemetry's SDK would export. */
function startMeter() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => provider.shutdown());
  const collect = async () => {
    exporter.reset();
    await provider.forceFlush();
    const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    return new Map(all.flatMap((scope) => scope.metrics).map((each) => [each.descriptor.name, each]));
  };
  return { meter: provider.getMeter('test'), collect };
}

describe("OpenTelemetry's meter", () => {
  it('exports gauges, counters and histograms, with their units and labels', async () => {
    const { path, elector, measured } = await startMeasured();
    const { meter, collect } = startMeter();
    const add = vi.spyOn(meter, 'addBatchObservableCallback');
    const remove = vi.spyOn(meter, 'removeBatchObservableCallback');
    measured.instrument({ meter });
    const other = await openSession();
    const successor = new LeaderElector(other, path, { id: 'two' });
    const its = endsWithTest(metrics(successor));
    onTestFinished(() => successor.stop());
    its.instrument({ meter });
    await successor.start();
    await eventAfter(successor, 'elected', () => elector.handOver('two'));
    const all = await collect();
    const points = (name: string) => all.get(name)?.dataPoints ?? [];
    const found = (name: string, attributes: Record<string, string>) =>
      points(name).find((point) =>
        Object.entries(attributes).every(([key, value]) => point.attributes[key] === value),
      )?.value;
    expect(found('conclave.leader', { election: path, id: 'one' })).toBe(0);
    expect(found('conclave.leader', { election: path, id: 'two' })).toBe(1);
    expect(found('conclave.transitions', { id: 'one', to: 'demoted', reason: 'resigned' })).toBe(1);
    expect(found('conclave.handover_duration', { id: 'two' })).toMatchObject({ count: 1 });
    expect(all.get('conclave.lease_remaining')?.descriptor.unit).toBe('s');
    its.close();
    measured.close();
    const removed = remove.mock.calls.map(([callback]) => callback);
    expect(removed).toEqual([add.mock.calls[1]?.[0], add.mock.calls[0]?.[0]]);
  });

  it('gets a name of its own for each metric', () => {
    const names = FAMILY_NAMES.map(instrumentName);
    expect(new Set(names).size).toBe(FAMILY_NAMES.length);
    for (const name of names) expect(name).not.toMatch(/_total$|_seconds$/);
  });
});

function startTracer() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  onTestFinished(() => provider.shutdown());
  const named = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
  return { tracer: provider.getTracer('test'), named };
}

const tookMs = ({ duration: [seconds, nanos] }: ReadableSpan) => seconds * 1000 + nanos / 1e6;

describe("OpenTelemetry's tracer", () => {
  it('gets a span for each term, also for one that goes on, and for each call of the hook', async () => {
    let calls = 0;
    const { server, supervisor, measured, start } = await startSupervised(() => {
      calls++;
      if (calls === 1) throw new Error('the cache is locked');
    });
    const { tracer, named } = startTracer();
    await start();
    measured.instrument({ tracer });
    const token = String(supervisor.term?.token);
    await eventAfter(supervisor, 'elected', () => server.expireSession(() => true));
    const [term] = named('conclave.term');
    expect(term?.attributes).toEqual({
      'conclave.election': '/app/election',
      'conclave.id': 'one',
      'conclave.term': 1,
      'conclave.token': token,
      'conclave.reason': 'session-expired',
    });
    expect(term?.status.code).toBe(SpanStatusCode.ERROR);
    expect(term?.parentSpanContext).toBeUndefined();
    const [failed, succeeded] = named('conclave.hook');
    expect(failed?.attributes).toMatchObject({ 'conclave.attempt': 1 });
    expect([failed?.status.code, succeeded?.status.code]).toEqual([
      SpanStatusCode.ERROR,
      SpanStatusCode.UNSET,
    ]);
    expect(failed?.events[0]?.attributes?.['exception.message']).toContain('the cache is locked');
    measured.close();
    expect(named('conclave.term')).toHaveLength(2);
  });

  it('gets a span for a takeover, as long as that took', async () => {
    const path = uniquePath('metrics');
    const dead = await openSession({ leaseMs: 600 });
    await lead(dead, path);
    const session = await openSession({ leaseMs: 600 });
    const successor = new LeaderElector(session, path, { id: 'two' });
    const measured = metrics(successor);
    const { tracer, named } = startTracer();
    measured.instrument({ tracer });
    onTestFinished(() => measured.close());
    onTestFinished(() => successor.stop());
    await successor.start();
    const elected = nextEvent(successor, 'elected');
    await dead.close(); // The elector releases nothing. Its node is deleted with the session.
    await elected;
    const [takeover] = named('conclave.takeover');
    expect(takeover?.attributes).toMatchObject({ 'conclave.election': path, 'conclave.term': 2 });
    expect(tookMs(takeover as ReadableSpan)).toBeGreaterThan(600);
  });
});

it('an endpoint for Prometheus is a few lines of the application', async () => {
  const { path, measured } = await startMeasured();
  const server = createServer(async (_, response) => {
    response.setHeader('content-type', measured.contentType);
    response.end(await measured.text());
  });
  const response = await fetch(`http://127.0.0.1:${await listening(server)}/metrics`);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await response.text()).toContain(`conclave_leader{election="${path}",id="one"} 1\n`);
});
