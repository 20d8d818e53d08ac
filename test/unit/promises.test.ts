import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { abortable, deferred, onAbort, sharedAbortController } from '../../src/promises.js';

describe('a signal that many wait for', () => {
  it('has one listener for all of them, and none when the last has gone', async () => {
    const { signal } = sharedAbortController();
    const work = deferred();
    const forget = onAbort(signal, () => undefined);
    const waiting = abortable(work.promise, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    work.resolve();
    await waiting;
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    forget();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('tells all of them once, in the order in which they came, but for those that have gone', async () => {
    const controller = sharedAbortController();
    const told: string[] = [];
    onAbort(controller.signal, () => void told.push('first'));
    const forget = onAbort(controller.signal, () => void told.push('gone'));
    const waiting = abortable(deferred().promise, controller.signal);
    onAbort(controller.signal, () => void told.push('last'));
    forget();
    controller.abort(new Error('over'));
    expect(told).toEqual(['first', 'last']);
    await expect(waiting).rejects.toThrow('over');
  });
});
