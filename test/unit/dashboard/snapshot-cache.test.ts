import { expect, it } from 'vitest';
import { objectOf, SnapshotCache } from '../../../src/dashboard/snapshot-cache.js';
import type { OverviewState } from '../../../src/overview/model/view-types.js';
import type { Clock } from '../../../src/platform/time/clock.js';

const text = (chunks: readonly Uint8Array[]) => Buffer.concat(chunks).toString();

it('the state was made JSON for each visitor, which blocked the leader: it is made again when it is twenty times as old as that took', () => {
  let nowMs = 0;
  let reads = 0;
  const shared = new SnapshotCache({ now: () => nowMs } as Clock, () => {
    nowMs += 50;
    return { elections: [], reads: ++reads } as unknown as OverviewState;
  });
  const first = shared.snapshot.parts;
  for (let asked = 0; asked < 100; asked++) expect(shared.snapshot.parts).toBe(first);
  expect(text(objectOf({ now: 1 }, first, '\n'))).toBe('{"now":1,"elections":[],"reads":1}\n');
  shared.changed(Buffer.from('one'));
  expect(text([...shared.snapshot.changes])).toBe('one');
  nowMs += 1000;
  expect(shared.needsChanges).toBe(false);
  expect(shared.snapshot).toMatchObject({ changes: [] });
  expect(reads).toBe(2);
  shared.changed(new Uint8Array(1000)); // More than the state.
  expect(shared.needsChanges).toBe(false);
});

it('an object of parts is JSON with and without other properties', () => {
  expect(text(objectOf({}, [['a', Buffer.from('[1]')]]))).toBe('{"a":[1]}');
  expect(text(objectOf({}, []))).toBe('{}');
});
