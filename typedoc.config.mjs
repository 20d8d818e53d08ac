import { PUBLIC_ENTRIES } from './scripts/build/sources.mjs';

// Members of other libraries' interfaces, OpenTelemetry's and prom-client's, which document them.
const OTHER_LIBRARIES = [
  'HistogramInstrument.record',
  'InstrumentOptions.advice',
  'InstrumentOptions.advice.__type.explicitBucketBoundaries',
  'InstrumentOptions.description',
  'InstrumentOptions.unit',
  'Meter.addBatchObservableCallback',
  'Meter.createHistogram',
  'Meter.createObservableCounter',
  'Meter.createObservableGauge',
  'Meter.removeBatchObservableCallback',
  'Observations.observe',
  'PromClientRegistry.getSingleMetric',
  'PromClientRegistry.registerMetric',
  'PromClientRegistry.removeSingleMetric',
  'Span.end',
  'Span.recordException',
  'Span.setAttribute',
  'Span.setStatus',
  'SpanOptions.attributes',
  'SpanOptions.root',
  'SpanOptions.startTime',
  'Tracer.startSpan',
];

// The API reference: `npm run docs:api`, and `npm run docs:build` into the documentation's site. Every warning fails it.
export default {
  name: 'Conclave',
  entryPoints: PUBLIC_ENTRIES.map((entry) => `src/${entry}.ts`),
  tsconfig: 'tsconfig.build.json',
  out: 'dist-docs',
  readme: 'none',
  // Links to sources would lead to a repository, and the site is complete without one.
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  validation: { notExported: true, invalidLink: true, notDocumented: true, rewrittenLink: true },
  // The tags of unions, which the type's own docs explain, and the parts of object types within a documented property.
  requiredToBeDocumented: [
    'Class',
    'Interface',
    'TypeAlias',
    'Function',
    'Method',
    'Property',
    'Accessor',
    'Variable',
    'Enum',
  ],
  intentionallyNotDocumented: [
    ...OTHER_LIBRARIES.map((member) => `metrics.${member}`),
    ...unionOf('index.HealthSource.health', ['live', 'ready', 'reasons']),
    ...unionOf('index.ElectorState', ['name', 'term', 'reason']),
    ...unionOf('index.SessionState', ['name', 'sinceMs']),
    ...unionOf('index.TransactionPart', ['kind', 'path', 'version', 'data', 'mode']),
    ...unionOf('dashboard.DashboardChange.heartbeats', ['path', 'seat', 'at']),
    ...unionOf('dashboard.GroupView.members', ['id', 'node', 'weight', 'planner', 'data']),
    ...unionOf('dashboard.GroupView.pins', ['shard', 'member']),
    ...unionOf('dashboard.LockView.queue', ['node', 'id', 'shared', 'since']),
  ],
  // Names that only shorten a declaration; callers never need them.
  intentionallyNotExported: [
    'Owners',
    'FLAGS',
    'ERROR_CODES',
    'EVENT',
    'Operation',
    'Abortable',
    'Server',
    'Reader',
  ],
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
};

/** @param {string} type @param {readonly string[]} properties */
function unionOf(type, properties) {
  return properties.map((property) => `${type}.__type.${property}`);
}
