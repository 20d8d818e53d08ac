import { PUBLIC_ENTRIES } from './scripts/build/sources.mjs';

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
    ...unionOf('index.HealthSource.health', ['live', 'ready', 'reasons']),
    ...unionOf('index.ElectorState', ['name', 'term', 'reason']),
    ...unionOf('index.SessionState', ['name', 'sinceMs']),
    ...unionOf('index.TransactionPart', ['kind', 'path', 'version', 'data', 'mode']),
    ...unionOf('dashboard.DashboardChange.heartbeats', ['path', 'at']),
  ],
  // Names that only shorten a declaration; callers never need them.
  intentionallyNotExported: [
    'Owners',
    'VisitorAccess',
    'Visitor',
    'FLAGS',
    'ERROR_CODES',
    'EVENT',
    'Operation',
    'Abortable',
    'Server',
    'Reader',
    // Views in the dashboard's JSON, which are parts of `DashboardState` and `DashboardChange`.
    'ElectionView',
    'GroupChange',
    'GroupView',
    'LockView',
    'ServerView',
    'TransitionView',
    // Parts of other libraries' objects, OpenTelemetry's and prom-client's, which callers pass as they are.
    'Meter',
    'PromClientRegistry',
    'Tracer',
  ],
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
};

/** @param {string} type @param {readonly string[]} properties */
function unionOf(type, properties) {
  return properties.map((property) => `${type}.__type.${property}`);
}
