import { describe, expect, it } from 'vitest';
import { LazyAbortController } from '../../../../src/platform/async/lazy-abort-controller.js';
import { abortableLate, deferred } from '../../../../src/platform/async/promises.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

function waitFor() {
  const clock = new TestClock();
  const signal = new LazyAbortController();
  const promise = deferred<string>();
  const settled: unknown[] = [];
  const push = (value: unknown) => void settled.push(value);
  abortableLate(clock, promise.promise, 400, signal).then(push, push);
  return { clock, signal, promise, settled };
}

describe('an outcome that is waited for beyond an abort', () => {
  it('is given when it comes in time', async () => {
    const { clock, signal, promise, settled } = waitFor();
    await clock.advance(10_000);
    signal.abort('stopped');
    await clock.advance(399);
    expect(settled).toEqual([]);
    promise.resolve('claimed');
    await clock.advance(0);
    expect(settled).toEqual(['claimed']);
    expect(clock.timerCount).toBe(0);
  });

  it('is given up when it does not', async () => {
    const { clock, signal, settled } = waitFor();
    signal.abort('stopped');
    await clock.advance(400);
    expect(settled).toEqual(['stopped']);
    expect(clock.timerCount).toBe(0);
  });

  it('leaves nothing behind without an abort', async () => {
    const { clock, signal, promise, settled } = waitFor();
    promise.reject('refused');
    await clock.advance(0);
    expect(settled).toEqual(['refused']);
    expect([clock.timerCount, signal.listenerCount]).toEqual([0, 0]);
  });
});
