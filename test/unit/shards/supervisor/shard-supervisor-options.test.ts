import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../../src/errors.js';
import { resolveShardOptions } from '../../../../src/shards/supervisor/shard-supervisor-options.js';

const LEAST = { connect: 'localhost:2181', path: '/shards' };

describe('the options of a supervisor of shards', () => {
  it('have defaults', () => {
    expect(resolveShardOptions(LEAST)).toMatchObject({
      ...{ path: '/shards', weight: 1, graceMs: 0, keepsHome: false },
      ...{ guardian: true, shards: undefined },
      ...{ runRetry: { retries: 4 }, retry: { retries: Number.POSITIVE_INFINITY } },
    });
  });

  it('keep a home for a member whose id is given', () => {
    expect(resolveShardOptions({ ...LEAST, id: 'a', graceMs: 5000 })).toMatchObject({
      ...{ id: 'a', keepsHome: true, graceMs: 5000 },
    });
  });

  it.each<[string, object | undefined, RegExp]>([
    ['no options', undefined, /an object with at least connect and path/],
    [
      'a misspelt name',
      { ...LEAST, shard: 5 },
      /supervisor\.shard is an unknown option.*did you mean supervisor\.shards\?/s,
    ],
    ['no shards', { ...LEAST, shards: 0 }, /shards/],
    ['half a surrogate pair in the id', { ...LEAST, id: 'a\ud83d' }, /id is .*surrogate pair/s],
    ['a shard twice', { ...LEAST, shards: ['a', 'a'] }, /shards .*differ/s],
    ['a weight of 0', { ...LEAST, weight: 0 }, /weight.*over 0/s],
    ['an infinite weight', { ...LEAST, weight: Number.POSITIVE_INFINITY }, /weight.*finite/s],
    ['data that is no string', { ...LEAST, data: 5 }, /data.*a string of at most 16384 bytes/s],
    ['too much data', { ...LEAST, data: 'x'.repeat(16_385) }, /data.*16384/s],
    ['grace without an id', { ...LEAST, graceMs: 100 }, /graceMs.*id that stays the same/s],
    ['a run that is no function', { ...LEAST, run: 'work' }, /run/],
  ])('refuse %s', (_, options, message) => {
    expect(() => resolveShardOptions(options)).toThrow(InvalidOptionError);
    expect(() => resolveShardOptions(options)).toThrow(message);
  });
});
