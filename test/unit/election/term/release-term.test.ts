import { describe, expect, it } from 'vitest';
import type { LeaderElector } from '../../../../src/election/leader-elector.js';
import { serializeRecord } from '../../../../src/election/record/election-record.js';
import type { Claim } from '../../../../src/election/term/term.js';
import type { Session } from '../../../../src/session/session.js';
import { startElection } from '../../../support/conclave/elections-in-test-time.js';
import { DEAD } from '../../../support/conclave/electors.js';
import { writeAtItsVersion } from '../../../support/servers/write-at-its-version.js';

const PATH = '/election';
const OTHER = serializeRecord({ ...DEAD, term: 7, id: 'other' });

async function setUp() {
  const election = await startElection(PATH);
  const { clock, server } = election;
  const lead = async (): Promise<[LeaderElector, Claim]> => {
    const elector = await election.lead('leader');
    return [elector, elector.claim as Claim];
  };
  /** Writes the record at its version. Meanwhile no session without a connection gets one. */
  const restoreAndClaim = async ({ record }: Claim, operator: Session) => {
    server.refuse();
    await clock.advanceUntil(writeAtItsVersion(server, operator, record, OTHER));
    server.admit();
  };
  return { ...election, lead, restoreAndClaim };
}

describe('a release', () => {
  it('goes out at once over the connection of its claim, without a look at the record', async () => {
    const { clock, server, lead } = await setUp();
    const [elector, { node }] = await lead();
    await clock.advance(100);
    server.resetCounts();
    await clock.advanceUntil(elector.stop());
    expect(server.paths(PATH)).not.toContain(node);
    expect(server.count('exists') + server.count('getData')).toBe(0);
    expect(server.count('multi')).toBe(1);
  });

  it('that is sent over another connection is carried out if the record is still as the claim left it', async () => {
    const { clock, server, open, lead } = await setUp();
    const [elector, { node, record }] = await lead();
    server.sessionOf(node)?.dropConnection();
    await clock.advanceUntil(elector.stop());
    expect(JSON.parse(String((await (await open()).getData(record)).data))).toMatchObject({
      state: 'vacant',
    });
    expect(server.paths(PATH)).not.toContain(node);
  });

  it('that was repeated after a lost reply made the record of a later leader vacant, in a restored backup', async () => {
    const { clock, server, open, lead, restoreAndClaim } = await setUp();
    const [elector, claim] = await lead();
    const operator = await open();
    const own = server.sessionOf(claim.node);
    own?.partition();
    const stopping = elector.stop();
    await clock.advance(10);
    server.refuse();
    own?.heal();
    await restoreAndClaim(claim, operator);
    await clock.advanceUntil(stopping);
    expect(server.data(claim.record)).toEqual(OTHER);
    expect(server.paths(PATH)).not.toContain(claim.node);
  });

  it('that had waited for a connection made the record of a later leader vacant, in a restored backup', async () => {
    const { clock, server, open, lead, restoreAndClaim } = await setUp();
    const [elector, claim] = await lead();
    const operator = await open();
    server.refuse();
    server.sessionOf(claim.node)?.dropConnection();
    await clock.advanceUntil(() => server.connectionCount === 1);
    const stopping = elector.stop();
    await restoreAndClaim(claim, operator);
    await clock.advanceUntil(stopping);
    expect(server.data(claim.record)).toEqual(OTHER);
    expect(server.paths(PATH)).not.toContain(claim.node);
  });
});

it('a claim that had waited for a connection overwrote the record of a later leader, in a restored backup', async () => {
  const { clock, server, open, join, lead, atServer, restoreAndClaim } = await setUp();
  const [, claim] = await lead();
  const operator = await open();
  const next = await join('next');
  server.sessionOf(claim.node)?.expire();
  await clock.advance(100); // The elector waits until the lease is over.
  server.refuse();
  atServer(next).dropConnection();
  await clock.advance(3000); // It is over, and there is no connection.
  await restoreAndClaim(claim, operator);
  const looksAgain = server.failWith('CONNECTION_LOSS', {
    operation: 'getData',
    path: claim.record,
    times: 1,
  });
  await clock.advanceUntil(() => looksAgain.hits === 1);
  expect(server.data(claim.record)).toEqual(OTHER);
  expect(next.term).toBeUndefined();
});
