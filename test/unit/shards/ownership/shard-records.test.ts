import { describe, expect, it } from 'vitest';
import { LazyAbortController } from '../../../../src/platform/async/lazy-abort-controller.js';
import { ShardRecords } from '../../../../src/shards/ownership/shard-records.js';
import { readPlannerSnapshot } from '../../../../src/shards/planner/planner-snapshot.js';
import { ShardList } from '../../../../src/shards/stored/shard-list.js';
import { PATHS } from '../../../support/conclave/group-members.js';
import { setUpOwners } from '../../../support/conclave/shard-owners.js';
import { eventAfter } from '../../../support/events.js';

const never = new LazyAbortController();
const LISTENER = {
  onRefused: (error: unknown) => {
    throw error;
  },
  accompany: <T>(_: unknown, commit: (parts: readonly never[]) => Promise<T>) => commit([]),
};

describe('the records of shards', () => {
  it('that were seen over another connection are not claimed, since a restored backup may have them at that version', async () => {
    const { clock, server, join, holder } = await setUpOwners();
    const { session, member } = await join('a');
    const records = new ShardRecords(session, PATHS, member, 'a');
    const seen = await clock.advanceUntil(records.read(['0', '1'], never));
    await clock.advanceUntil(eventAfter(session, 'resumed', () => server.dropConnections()));
    expect(await clock.advanceUntil(records.claim(seen, LISTENER))).toEqual(new Map());
    expect(holder('0')).toBe(undefined);
    const again = await clock.advanceUntil(records.read(['0', '1'], never));
    expect([...(await clock.advanceUntil(records.claim(again, LISTENER))).keys()]).toEqual(['0', '1']);
    expect(holder('0')).toBe('a');
  });

  it('are read by a planner after it has listed the tombstones', async () => {
    const { clock, server, join } = await setUpOwners();
    const { session, member } = await join('a');
    const records = new ShardRecords(session, PATHS, member, 'a');
    const shards = () => ({ list: ShardList.of(3) }) as never;
    const source = { session, paths: PATHS, shards, records, onError: LISTENER.onRefused };
    server.resetCounts();
    await clock.advanceUntil(readPlannerSnapshot(source, [], never));
    const asked = server.requests.map(({ operation, paths }) => `${operation} ${paths[0]}`);
    const listing = asked.indexOf(`getChildren ${PATHS.tombstones}`);
    expect(listing).toBeGreaterThanOrEqual(0);
    expect(asked.indexOf(`multiRead ${PATHS.recordOf('0')}`)).toBeGreaterThan(listing);
  });
});
