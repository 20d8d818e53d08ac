import { describe, expect, it, vi } from 'vitest';
import { PREPARED_WAIT_MS } from '../../../../src/shards/planner/handover-waits.js';
import {
  type ComingShard,
  MOST_CALLS,
  Preparations,
} from '../../../../src/shards/supervisor/preparations.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

const coming = (...indexes: number[]) => indexes.map((index) => ({ id: String(index), index }));
/** As many as may be called at a time, from `first` on. */
const asManyFrom = (first: number) => Array.from({ length: MOST_CALLS }, (_, index) => first + index);
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Calls that end when they are told to. */
function setUp() {
  const clock = new TestClock();
  const calls = new Map<string, { shard: ComingShard; ready: () => void; fail: (error: Error) => void }>();
  const told: string[] = [];
  const preparations = new Preparations(
    (shard) =>
      new Promise<void>((resolve, reject) => {
        calls.set(shard.id, { shard, ready: resolve, fail: reject });
      }),
    clock,
    {
      onReady: (shards) => told.push(`ready ${shards.join()}`),
      onFailed: (id, cause) => told.push(`failed ${id}: ${(cause as Error).message}`),
      onHanging: (id) => told.push(`hanging ${id}`),
    },
  );
  const follow = async (...indexes: number[]) => {
    preparations.follow(coming(...indexes));
    await settled();
  };
  const end = async (id: string, error?: Error) => {
    const call = calls.get(id);
    if (error === undefined) call?.ready();
    else call?.fail(error);
    await settled();
  };
  return { clock, calls, told, preparations, follow, end };
}

describe('preparations', () => {
  it('are called for some shards at a time, in order, and say which are ready', async () => {
    const { calls, told, preparations, end } = setUp();
    const first = asManyFrom(1);
    preparations.follow(coming(...first, 90));
    expect(calls.size).toBe(0); // Not on the caller's stack.
    await settled();
    expect([...calls.keys()]).toEqual(first.map(String));
    await end('2');
    expect([...calls.keys()]).toEqual([...first, 90].map(String));
    await end('1');
    await end('90');
    expect(told).toEqual(['ready 2', 'ready 1,2', 'ready 1,2,90']);
  });

  it('are called once for a shard that is still to come, and anew when it is to come again', async () => {
    const { calls, told, preparations, follow, end } = setUp();
    await follow(1);
    await end('1');
    calls.clear();
    await follow(1);
    expect([calls.size, told]).toEqual([0, ['ready 1']]);
    preparations.follow([]);
    await follow(1);
    expect(calls.size).toBe(1);
  });

  it('begin for no shard that another one frees a place for and that goes with it', async () => {
    const { clock, preparations, follow } = setUp();
    await follow(...asManyFrom(0), ...asManyFrom(MOST_CALLS));
    const begun = vi.spyOn(clock, 'after'); // Each call has a timer.
    preparations.follow([]);
    expect(begun).not.toHaveBeenCalled();
  });

  it('abort the signal of a shard that is not to come any more, and take back that it is ready', async () => {
    const { calls, told, preparations, follow, end } = setUp();
    await follow(1, 2);
    await end('1');
    preparations.follow([]);
    expect(calls.get('2')?.shard.signal.aborted).toBe(true);
    await end('2');
    expect(told).toEqual(['ready 1', 'ready ']);
  });

  it('tell of a hook that throws, and go on with the others', async () => {
    const { told, follow, end } = setUp();
    await follow(...asManyFrom(1), 90);
    await end('1', new Error('cold'));
    await end('90');
    expect(told).toEqual(['failed 1: cold', 'ready 90']);
  });

  it('say nothing of a hook that throws because its shard is not to come any more', async () => {
    const { told, preparations, follow, end } = setUp();
    await follow(1);
    preparations.follow([]);
    await end('1', new Error('aborted'));
    expect(told).toEqual([]);
  });

  it('are not called for a shard whose turn came after it was not to come any more', async () => {
    const { calls, preparations, follow, end } = setUp();
    const first = asManyFrom(1);
    await follow(...first, 90);
    preparations.follow(coming(...first));
    await end('1');
    expect([...calls.keys()]).toEqual(first.map(String));
  });

  it('go on with others in the place of calls that hang though their shards are not to come any more', async () => {
    const { clock, calls, told, preparations, follow, end } = setUp();
    const [gone, next] = [asManyFrom(1), asManyFrom(30)];
    const called = [...gone, ...next].map(String);
    await follow(...gone);
    await follow(...next, 90);
    expect([...calls.keys()]).toEqual(called);
    await end('1'); // It has given up its place before.
    expect([...calls.keys()]).toEqual(called);
    await end('30');
    expect([...calls.keys()]).toEqual([...called, '90']);
    expect(told).toEqual(['ready 30']);
    preparations.stop();
    expect(clock.timerCount).toBe(0);
  });

  it('go on with others when a call has taken as long as it may hold up a move, and take it for ready later', async () => {
    const { clock, calls, told, preparations, end } = setUp();
    const first = asManyFrom(1);
    preparations.follow(coming(...first, 90, 91));
    await clock.advance(PREPARED_WAIT_MS - 1);
    expect([...calls.keys()]).toEqual(first.map(String));
    await clock.advance(1);
    expect([...calls.keys()]).toEqual([...first, 90, 91].map(String));
    expect(calls.get('1')?.shard.signal.aborted).toBe(false);
    await end('1');
    expect(told).toEqual([...first.map((id) => `hanging ${id}`), 'ready 1']);
    preparations.stop();
    expect(clock.timerCount).toBe(0);
  });

  it('tell once of a call that hangs, also when its shard has come meanwhile', async () => {
    const { clock, told, preparations, follow, end } = setUp();
    await follow(1, 2);
    preparations.follow([]);
    await end('2');
    await clock.advance(PREPARED_WAIT_MS);
    expect(told).toEqual(['hanging 1']);
    await clock.advance(10 * PREPARED_WAIT_MS);
    await end('1', new Error('late'));
    expect([told, clock.timerCount]).toEqual([['hanging 1'], 0]);
  });

  it('tell nothing of calls that hang after they were stopped', async () => {
    const { clock, calls, told, preparations, follow } = setUp();
    await follow(1);
    preparations.stop();
    expect(calls.get('1')?.shard.signal.aborted).toBe(true);
    await clock.advance(10 * PREPARED_WAIT_MS);
    expect(told).toEqual([]);
  });
});
