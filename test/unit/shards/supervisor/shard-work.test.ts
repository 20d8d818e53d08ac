import { describe, expect, it } from 'vitest';
import { ShardFailedError } from '../../../../src/errors.js';
import { LazyAbortController } from '../../../../src/platform/async/lazy-abort-controller.js';
import type { OwnedShard, Shard } from '../../../../src/shards/ownership/owned-shard.js';
import { LONG_RUN_MS, workOn } from '../../../../src/shards/supervisor/shard-work.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

const RETRY = { retries: 2, minTimeout: 100, maxTimeout: 5000 };

function setUp(run: (shard: Shard) => unknown) {
  const clock = new TestClock();
  const told: string[] = [];
  const ended = new LazyAbortController<Error>();
  const shard = { id: '5', signal: ended.signal } as unknown as OwnedShard;
  const done = workOn(shard, {
    ...{ run, runRetry: RETRY, environment: { clock, random: () => 0 } },
    report: (error) => told.push(`failed ${error.attempt}`),
    refusals: {
      refuse: (id) => told.push(`given up ${id}`),
      forget: (id) => told.push(`well ${id}`),
    },
  });
  return { clock, told, ended, done: () => done };
}

describe('the work of a shard', () => {
  it('is called again with longer and longer pauses when it throws, and given up after the last try', async () => {
    let calls = 0;
    const { clock, told, done } = setUp(() => {
      calls++;
      throw new Error('broken');
    });
    await clock.advance(0);
    expect([calls, told]).toEqual([1, ['failed 1']]);
    await clock.advance(99);
    expect(calls).toBe(1);
    await clock.advance(1);
    expect(calls).toBe(2);
    await clock.advance(199);
    expect(calls).toBe(2);
    await clock.advance(1);
    await done();
    expect(calls).toBe(3);
    expect(told).toEqual(['failed 1', 'failed 2', 'failed 3', 'given up 5']);
  });

  it('counts from the beginning when it had run for a minute before it failed', async () => {
    let fail: (error: Error) => void = () => undefined;
    const { clock, told } = setUp(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    for (let time = 0; time < 2; time++) {
      await clock.advance(1000);
      fail(new Error('broken'));
      await clock.advance(1000);
    }
    await clock.advance(LONG_RUN_MS);
    fail(new Error('broken'));
    await clock.advance(0);
    expect(told).toEqual(['failed 1', 'failed 2', 'well 5', 'failed 1']);
  });

  it('that was well for a minute, and ended with the shard, was counted with a failure of before', async () => {
    let fail: (error: Error) => void = () => undefined;
    const { clock, ended, told, done } = setUp(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    await clock.advance(LONG_RUN_MS);
    const end = new Error('moved');
    ended.abort(end);
    fail(end);
    await expect(done()).rejects.toBe(end);
    expect(told).toEqual(['well 5']);
  });

  it('is left alone when it returns', async () => {
    let calls = 0;
    const { clock, told, done } = setUp(() => {
      calls++;
    });
    await done();
    await clock.advance(10 * LONG_RUN_MS);
    expect([calls, told]).toEqual([1, []]);
  });

  it('ends its pause when the shard ends', async () => {
    const { clock, ended, told, done } = setUp(() => {
      throw new Error('broken');
    });
    await clock.advance(0);
    ended.abort(new Error('moved'));
    await done();
    expect(told).toEqual(['failed 1']);
    expect(clock.timerCount).toBe(0);
  });

  it('leaves what it throws after the end of the shard to those who wait for that', async () => {
    let fail: (error: Error) => void = () => undefined;
    const { clock, ended, told, done } = setUp(
      () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
    );
    await clock.advance(0);
    const end = new Error('moved');
    ended.abort(end);
    fail(end);
    await expect(done()).rejects.toBe(end);
    expect(told).toEqual([]);
  });

  it('says in its error which shard has failed, how often, and why', () => {
    const error = new ShardFailedError('5', new Error('broken'), 3);
    expect(error.message).toBe('the work of shard 5 failed (3 in a row): broken');
    expect([error.shard, error.attempt, (error.cause as Error).message]).toEqual(['5', 3, 'broken']);
  });
});
