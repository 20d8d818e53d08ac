import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { INSTALLED_DIALECT, startEmbeddedAs, startReal, TestServer } from './support/servers.js';
import { type Acl, type CreateType, type Question, type Read, type Step, trace } from './support/trace.js';

const TICK_MS = 2000;
// After a minute a real server deletes the containers that other runs left empty, which takes a zxid.
const LONGEST_MS = 45_000;
const release = INSTALLED_DIALECT === '3.9' ? '3.9.5' : '3.8.0';
const real = new TestServer({ release, start: startReal }, TICK_MS);
const embedded = new TestServer({ release, start: startEmbeddedAs(INSTALLED_DIALECT) }, TICK_MS);

beforeAll(async () => {
  await Promise.all([real.start(), embedded.start()]);
});
afterAll(async () => {
  await Promise.all([real.stop(), embedded.stop()]);
});

// Few paths, names and values, so that the steps affect each other.
const path = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('/a', '/b', '/a/a', '/a/b', '/a/a/a') },
  { weight: 1, arbitrary: fc.constantFrom('', '/', '/a/', '/a//a', '/a/..', '/missing') },
);
const version = fc.oneof(
  { weight: 3, arbitrary: fc.constant(-1) },
  { weight: 2, arbitrary: fc.integer({ min: -2, max: 3 }) },
);
const data = fc.option(fc.constantFrom('', 'x', 'long'), { nil: null });
const mode = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 3 }) },
  { weight: 1, arbitrary: fc.integer({ min: -1, max: 8 }) },
);
const acl = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Acl>('open') },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Acl>('creator', 'reading', 'alice', 'mixed', 'none', 'wrong'),
  },
);

const create = fc.record({
  kind: fc.constant('create' as const),
  type: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<CreateType>('create', 'create2') },
    { weight: 1, arbitrary: fc.constantFrom<CreateType>('createContainer', 'createTtl') },
  ),
  path,
  mode,
  data,
  acl,
});
const set = fc.record({ kind: fc.constant('set' as const), path, data, version });
const remove = fc.record({ kind: fc.constantFrom('delete' as const), path, version });
const check = fc.record({ kind: fc.constantFrom('check' as const), path, version });
const setAcl = fc.record({ kind: fc.constant('setAcl' as const), path, acl, version });
const read = fc.record({
  kind: fc.constantFrom<Read>('exists', 'getData', 'getChildren', 'getChildren2'),
  path,
  watch: fc.boolean(),
});
const transactionRead = fc.record({
  kind: fc.constantFrom<Read>('getData', 'getChildren'),
  path,
  watch: fc.constant(false),
});
const question: fc.Arbitrary<Question> = fc.oneof(
  { weight: 10, arbitrary: create },
  { weight: 4, arbitrary: set },
  { weight: 5, arbitrary: remove },
  { weight: 2, arbitrary: setAcl },
  { weight: 10, arbitrary: read },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('getAcl' as const, 'sync' as const), path }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('removeWatches' as const),
      path,
      type: fc.integer({ min: 0, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('setWatches' as const),
      age: fc.nat(6),
      paths: fc.array(fc.array(path, { maxLength: 3 }), { minLength: 3, maxLength: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('multi' as const),
      parts: fc.array(fc.oneof(create, set, remove, check), { maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('multiRead' as const),
      parts: fc.array(transactionRead, { maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('auth' as const), user: fc.constantFrom('alice', 'bob') }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('whoAmI' as const) }) },
);
/**
 * ZooKeeper takes credentials in another thread. And it judges a request right behind a change of an access list by the old list,
 * unless the server is quick. In both cases the result is chance.
 */
function isInTurn({ kind }: Question): boolean {
  return kind !== 'auth' && kind !== 'setAcl';
}

const questions = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(question) },
  {
    weight: 1,
    arbitrary: fc.array(question.filter(isInTurn), { maxLength: 6 }),
  },
);
const client = fc.nat(2);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 20, arbitrary: fc.record({ kind: fc.constant('ask' as const), client, questions }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('close' as const, 'reconnect' as const), client }),
  },
);

it('whatever is asked, in whatever order, the embedded server answers as ZooKeeper does, and sends the same events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const [expected, actual] = await Promise.all([trace(real, steps), trace(embedded, steps)]);
      expect(actual).toEqual(expected);
    }),
    { numRuns: Number(process.env.CONFORMANCE_RUNS ?? 60), interruptAfterTimeLimit: LONGEST_MS },
  );
});
