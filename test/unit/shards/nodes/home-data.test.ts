import { describe, expect, it } from 'vitest';
import { type Home, parseHome, serializeHome } from '../../../../src/shards/nodes/home-data.js';
import { ShardList } from '../../../../src/shards/nodes/shard-list.js';

const KNOWN = { list: ShardList.of(8), version: 3 };
const HOME: Home = {
  ...{ id: 'Zoë', member: '0f8fad5b-d9cb-869f-a165-70867728950e', weight: 1.5, graceMs: 0 },
  shards: ['1', '2', '7'],
};

describe('a member’s home', () => {
  it.each([HOME, { ...HOME, graceMs: 60_000, shards: [] }])('is read as it was written: %j', (home) => {
    expect(parseHome(serializeHome(home, KNOWN), KNOWN)).toEqual(home);
  });

  it.each([
    { format: 'conclave.home.2' },
    { id: 1 },
    { id: '\ud83d' },
    { member: undefined },
    { weight: 0 },
    { weight: '1' },
    { graceMs: -1 },
    { graceMs: undefined },
    { shards: [1] },
    { list: undefined },
  ])('isn’t one with %j', (change) => {
    const written = JSON.parse(String(serializeHome(HOME, KNOWN))) as object;
    expect(parseHome(Buffer.from(JSON.stringify({ ...written, ...change })), KNOWN)).toBeUndefined();
  });

  it('of another list of names has no shards', () => {
    const names = { list: ShardList.of(['eu', 'us']), version: 3 };
    const data = serializeHome({ ...HOME, shards: ['eu'] }, names);
    expect(parseHome(data, { ...names, version: 4 })).toEqual({ ...HOME, shards: [] });
  });

  it('isn’t one that is no object', () => {
    expect(parseHome(Buffer.from('{'), KNOWN)).toBeUndefined();
  });
});
