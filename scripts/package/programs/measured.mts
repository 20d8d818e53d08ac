/** Exports metrics. The types of conclave/metrics must fit the types of prom-client and of OpenTelemetry's API. */
import { metrics as api, trace } from '@opentelemetry/api';
import { ElectionSupervisor, ShardSupervisor, superviseCluster } from 'conclave';
import { type Metrics, type MetricsSource, metrics } from 'conclave/metrics';
import { Registry, register } from 'prom-client';

const connect = '127.0.0.1:2181';
const sources: MetricsSource[] = [
  new ElectionSupervisor({ connect, path: '/elections/jobs' }),
  new ShardSupervisor({ connect, path: '/shards/jobs', shards: 8 }),
  superviseCluster({ connect, workers: 2 }),
];
const measured: Metrics = metrics(sources);
measured.register(register);
measured.register(new Registry());
measured.instrument({ meter: api.getMeter('jobs'), tracer: trace.getTracer('jobs') });
console.log(measured.contentType, await measured.text());
measured.close();
