import { describe, expect, it } from 'vitest';
import { ShardFailedError } from '../../../../src/errors.js';
import { LazyAbortController } from '../../../../src/platform/async/lazy-abort-controller.js';
import type { OwnedShard, Shard } from '../../../../src/shards/ownership/owned-shard.js';
import {
  FailedShardBackoff,
  LONG_RUN_MS,
  workOn,
} from '../../../../src/shards/supervisor/failed-shard-backoff.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

const RETRY = { retries: 2, minTimeout: 100, maxTimeout: 5000 };

function work(run: (shard: Shard) => unknown) {
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
    const { clock, told, done } = work(() => {
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
    const { clock, told } = work(
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

  it('is left alone when it returns', async () => {
    let calls = 0;
    const { clock, told, done } = work(() => {
      calls++;
    });
    await done();
    await clock.advance(10 * LONG_RUN_MS);
    expect([calls, told]).toEqual([1, []]);
  });

  it('ends its pause when the shard ends', async () => {
    const { clock, ended, told, done } = work(() => {
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
    const { clock, ended, told, done } = work(
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

function setUp(random = 1) {
  const clock = new TestClock();
  const changes: string[][] = [];
  const refusals: FailedShardBackoff = new FailedShardBackoff({ clock, random: () => random }, () =>
    changes.push(refusals.shards),
  );
  return { clock, refusals, changes };
}

describe('refusals', () => {
  it('last for 20 s at most, and are told when they begin and end', async () => {
    const { clock, refusals, changes } = setUp();
    refusals.refuse('3');
    expect(refusals.shards).toEqual(['3']);
    await clock.advance(19_999);
    expect(refusals.shards).toEqual(['3']);
    await clock.advance(1);
    expect(changes).toEqual([['3'], []]);
  });

  it('last twice as long each time in a row, up to ten minutes', async () => {
    const { clock, refusals } = setUp();
    for (const ms of [20_000, 40_000, 80_000, 160_000, 320_000, 600_000, 600_000]) {
      refusals.refuse('3');
      await clock.advance(ms - 1);
      expect(refusals.shards).toEqual(['3']);
      await clock.advance(1);
      expect(refusals.shards).toEqual([]);
    }
  });

  it('begin anew with a short one once the work was well', async () => {
    const { clock, refusals } = setUp();
    refusals.refuse('3');
    await clock.advance(20_000);
    refusals.forget('3');
    refusals.refuse('3');
    await clock.advance(20_000);
    expect(refusals.shards).toEqual([]);
  });

  it('are spread by chance over half their length', async () => {
    const { clock, refusals } = setUp(0);
    refusals.refuse('3');
    await clock.advance(10_000);
    expect(refusals.shards).toEqual([]);
  });

  it('of a shard that is refused already change nothing', () => {
    const { refusals, changes } = setUp();
    refusals.refuse('3');
    refusals.refuse('3');
    expect(changes).toEqual([['3']]);
  });

  it('leave no timer when they are stopped', () => {
    const { clock, refusals } = setUp();
    refusals.refuse('3');
    refusals.stop();
    expect([clock.timerCount, refusals.shards]).toEqual([0, []]);
  });
});
