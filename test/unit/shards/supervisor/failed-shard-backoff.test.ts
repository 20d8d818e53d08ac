import { describe, expect, it } from 'vitest';
import { FailedShardBackoff } from '../../../../src/shards/supervisor/failed-shard-backoff.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

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
