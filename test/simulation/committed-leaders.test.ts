import { expect, it } from 'vitest';
import { serializeRecord } from '../../src/election/record/election-record.js';
import { ELECTION } from './candidates/candidate.js';
import { CommittedLeaders } from './committed-leaders.js';

const NODE = '_c_01234567-89ab-4def-8123-456789abcdef-lock-0000000001';
const OTHER = '_c_76543210-89ab-4def-8123-456789abcdef-lock-0000000002';

it('count a leader by lost data for as long as its node is there', () => {
  let now = 0;
  const nodes = new Map<string, Buffer>();
  const read = (path: string) => {
    const data = nodes.get(path);
    return data && { data, version: 1 };
  };
  const hold = (node: string) =>
    nodes.set(ELECTION, serializeRecord({ state: 'held', term: 1, node, leaseMs: 1000 }));
  const leaders = new CommittedLeaders(() => now);
  nodes.set(`${ELECTION}/${NODE}`, Buffer.alloc(0));
  hold(NODE);
  leaders.applied(1n, { path: ELECTION, type: 'changed' } as never, read);
  expect([leaders.leader, leaders.leadsByLostData(NODE)]).toEqual([NODE, false]);
  now = 100;
  hold(OTHER); // As it was in the backup: that one's node is gone.
  leaders.beginAnew(1n, read);
  expect([leaders.leader, leaders.leadsByLostData(NODE)]).toEqual([undefined, true]);
  now = 5000;
  nodes.delete(`${ELECTION}/${NODE}`);
  leaders.applied(2n, { path: `${ELECTION}/${NODE}`, type: 'deleted' } as never, read);
  expect([leaders.leadsByLostData(NODE), leaders.termOf(NODE)?.endedAt]).toEqual([false, 5000]);
});
