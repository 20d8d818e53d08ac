import { expect, it } from 'vitest';
import { Validity } from '../../src/lease/validity.js';
import { Session } from '../../src/session/session.js';
import { OwnedShard } from '../../src/shards/ownership/owned-shard.js';
import { RUNS_ALL } from '../support/vitest/extent.js';
import { simulate } from './run.js';
import { findEach, replace } from './wrong.js';

it('the simulation of shards finds nothing wrong', async () => {
  const seeds = RUNS_ALL ? [1, 2, 3] : [1];
  const hours = RUNS_ALL ? 0.4 : 0.1; // Six minutes of shards take as long as some hours of one election.
  const runs = seeds.map((seed) => simulate({ seed, hours, rules: 'shipped', faultRate: 'shards' }));
  const found: string[] = [];
  let terms = 0;
  for (const run of runs) {
    const { violations, counts } = await run;
    found.push(...violations.map(({ kind, what }) => `${kind}: ${what}`));
    terms += counts.get('terms') ?? 0;
  }
  expect(found).toEqual([]);
  expect(terms).toBeGreaterThan(100);
}, 300_000);

findEach([
  {
    what: 'a tombstone that depends on no version of the heartbeat node',
    found: /^two owners: /,
    faultRate: 'shards',
    hint: 8,
    make: () =>
      replace(Session.prototype, 'commit', (right) => {
        return function (this: Session, parts) {
          const isTombstone = parts.some(
            ({ kind, path }) => kind === 'create' && path.includes('/tombstones/'),
          );
          return right.call(
            this,
            isTombstone
              ? parts.map((part) => (part.kind === 'delete' ? { kind: part.kind, path: part.path } : part))
              : parts,
          );
        };
      }),
  },
  {
    what: "a guarded write that checks the member's node alone",
    found: /^fence: /,
    faultRate: 'shards',
    hint: 1,
    make: () => replace(OwnedShard.prototype, 'transaction', () => Validity.prototype.transaction),
  },
]);
