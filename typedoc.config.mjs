import { PUBLIC_ENTRIES } from './scripts/build/sources.mjs';

// The API reference: `npm run docs:api`. Every warning fails it.
export default {
  name: 'Conclave',
  entryPoints: PUBLIC_ENTRIES.map((entry) => `src/${entry}.ts`),
  tsconfig: 'tsconfig.build.json',
  out: 'dist-docs',
  readme: 'none',
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
    ...unionOf('index.ElectorState', ['name', 'term', 'reason']),
    ...unionOf('index.SessionState', ['name', 'sinceMs']),
    ...unionOf('index.TransactionPart', ['kind', 'path', 'version', 'data', 'mode']),
    ...unionOf('node-cron.MissedFirings.dropped', ['after', 'upTo']),
    ...unionOf('node-cron.JobContext.task', ['name']),
    ...unionOf('node-cron.JobContext.execution', ['id']),
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
    'TaskEvent',
  ],
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
};

/** @param {string} type @param {readonly string[]} properties */
function unionOf(type, properties) {
  return properties.map((property) => `${type}.__type.${property}`);
}
