import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { candidateOf, cleanUpSession } from '../../../../src/cluster/dead-children/give-back-terms.js';
import { openSessionOf } from '../../../../src/cluster/dead-children/guarded-process.js';
import type { LeaderElectorOptions } from '../../../../src/election/elector-options.js';
import { LeaderElector } from '../../../../src/election/leader-elector.js';
import { parseRecord, serializeRecord } from '../../../../src/election/record/election-record.js';
import type { ElectedTerm } from '../../../../src/election/term/elected-term.js';
import { connectSource } from '../../../../src/session/connection/server-list.js';
import { DEAD } from '../../../support/conclave/electors.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';
import { writeAtItsVersion } from '../../../support/servers/write-at-its-version.js';
import { SILENT } from '../../../support/silent-logger.mjs';

it('wrote by what it had read over another connection, and made the record of a later leader vacant, in a restored backup', async () => {
  const { clock, server, open } = await startWithTestClock();
  const [session, operator] = [await open(), await open()];
  const elector = new LeaderElector(session, '/election');
  onTestFinished(() => clock.advanceUntil(elector.stop()));
  await clock.advanceUntil(elector.start());
  const term = await clock.advanceUntil(() => elector.term as ElectedTerm);
  const { record, node } = term.claim;
  const late = server.delay(500, { only: 'exists', path: node });
  const cleaning = cleanUpSession(connectSource(server.connectString), openSessionOf(session, term), {
    environment: clock.environment,
    logger: SILENT,
  });
  await clock.advanceUntil(() => late.hits === 1); // The answer about the record has come by then.
  server.refuse();
  server.sessionOf(node)?.dropConnection();
  late.clear();
  const later = serializeRecord({ ...DEAD, id: 'later' });
  await clock.advanceUntil(writeAtItsVersion(server, operator, record, later));
  server.admit();
  expect(await clock.advanceUntil(cleaning)).toMatchObject({ terms: 1, clean: false });
  expect(server.data(record)).toEqual(later);
});

/** Starts a leader, and other candidates that wait in this order. */
async function setUpGuarded(...others: string[]) {
  const { clock, server, open } = await startWithTestClock();
  const elected: string[] = [];
  const join = async (id: string, options: LeaderElectorOptions = {}) => {
    const elector = new LeaderElector(await open(), '/elections/one', { ...options, id });
    elector.on('elected', ({ number }) => elected.push(`${id} ${number}`));
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    await clock.advanceUntil(elector.start());
    return elector;
  };
  const leader = await join('leader');
  const term = await clock.advanceUntil(() => leader.term as ElectedTerm);
  const waiting: LeaderElector[] = [];
  for (const id of others) waiting.push(await join(id)); // One after the other, so that they have this order.
  await clock.advance(20_000);
  const cleanUp = () =>
    cleanUpSession(connectSource(server.connectString), openSessionOf(leader.session, term), {
      environment: clock.environment,
      logger: SILENT,
    });
  const record = () => parseRecord(server.data('/elections/one') as Buffer, 1);
  return { clock, server, join, waiting, elected, cleanUp, record };
}

it('hands the term of a dead leader over to the first in the queue, which leads without a claim', async () => {
  const { clock, waiting, elected, cleanUp, record } = await setUpGuarded('next', 'last');
  expect(await clock.advanceUntil(cleanUp())).toEqual({ terms: 1, members: 0, clean: true });
  await clock.advanceUntil(() => elected.length === 2);
  expect(elected).toEqual(['leader 1', 'next 2']);
  const [next] = waiting as [LeaderElector];
  const stat = await clock.advanceUntil(next.session.exists('/elections/one'));
  expect(stat?.version).toBe(2); // The dead leader's claim, and the guardian's release.
  expect(record()).toMatchObject({ state: 'held', term: 2 });
});

it('hands it over to the one behind when the first in the queue leaves in the same moment', async () => {
  const { clock, server, waiting, elected, cleanUp } = await setUpGuarded('next', 'last');
  const late = server.delay(200, { only: 'multiRead', times: 1 });
  const cleaning = cleanUp();
  await clock.advanceUntil(() => late.hits === 1); // By then the guardian has listed the queue, or will list it as soon as this is answered.
  const stopping = waiting[0]?.stop();
  await clock.advance(50);
  expect(await clock.advanceUntil(cleaning)).toMatchObject({ terms: 1, clean: true });
  await clock.advanceUntil(() => elected.includes('last 2'));
  await clock.advanceUntil(stopping as Promise<void>);
});

it('hands it over to the candidate with the highest priority', async () => {
  const { clock, join, elected, cleanUp, record } = await setUpGuarded('next');
  await join('preferred', { priority: 7 });
  await join('other', { priority: 3 });
  await clock.advance(20_000);
  expect(await clock.advanceUntil(cleanUp())).toEqual({ terms: 1, members: 0, clean: true });
  await clock.advanceUntil(() => elected.length === 2);
  expect(elected).toEqual(['leader 1', 'preferred 2']);
  expect(record()).toMatchObject({ state: 'held', term: 2, id: 'preferred' });
});

it('hands it over to that one also if it changes its node in the same moment', async () => {
  const { clock, server, join, elected, cleanUp } = await setUpGuarded('next');
  const preferred = await join('preferred', { priority: 7 });
  await clock.advance(20_000);
  const late = server.delay(200, { only: 'multiRead', times: 1 });
  const cleaning = cleanUp();
  await clock.advanceUntil(() => late.hits === 1);
  await clock.advanceUntil(preferred.advertise('something else'));
  expect(await clock.advanceUntil(cleaning)).toMatchObject({ terms: 1, clean: true });
  await clock.advanceUntil(() => elected.includes('preferred 2'));
});

it('leaves the record of a dead leader vacant where no candidate is there', async () => {
  const { clock, join, cleanUp, record, elected } = await setUpGuarded();
  expect(await clock.advanceUntil(cleanUp())).toEqual({ terms: 1, members: 0, clean: true });
  expect(record()).toEqual({ state: 'vacant', term: 1 });
  await join('other');
  await clock.advanceUntil(() => elected.includes('other 2'));
});

const NAME = '_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000007';
const claim = { version: 3, term: 2 };

describe('a claim', () => {
  it('never lets anything be touched but an election and a child of its own', () => {
    const part = fc.constantFrom('e', 'f', NAME, 'secret');
    const below = fc.array(part, { maxLength: 2 }).map((parts) => parts.map((each) => `/${each}`).join(''));
    const record = fc.tuple(below, fc.constantFrom('', '/x')).map((parts) => parts.join(''));
    const node = fc.tuple(below, fc.constantFrom(`/${NAME}`, '/x')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(record, node, (record, node) => {
        const election = node.slice(0, node.lastIndexOf('/'));
        const isOfIt = election === record && node.endsWith(NAME);
        expect(candidateOf({ ...claim, record, node })?.node).toBe(isOfIt ? NAME : undefined);
      }),
      { examples: [['/a/b', `/a/b/${NAME}`]] },
    );
    const reader = NAME.replace('lock-', '__READ__');
    expect(candidateOf({ ...claim, record: '/e', node: `/e/${reader}` })).toBeUndefined();
  });
});
