export type {
  HistogramInstrument,
  InstrumentOptions,
  Meter,
  Observations,
  Span,
  SpanOptions,
  Tracer,
} from './export/open-telemetry.js';
export type { PromClientRegistry } from './export/prom-client.js';
export {
  type Instrumentation,
  type Metrics,
  type MetricsSource,
  metrics,
} from './metrics.js';
