import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LazyAbortController, onAbort } from '../../../../src/platform/async/lazy-abort-controller.js';
import { abortable, anyAbort, deferred } from '../../../../src/platform/async/promises.js';

describe('a lazy abort controller', () => {
  it('calls all its listeners once, in the order in which they were added, but for those that were removed', async () => {
    const controller = new LazyAbortController();
    const called: string[] = [];
    onAbort(controller, () => void called.push('first'));
    const forget = onAbort(controller, () => void called.push('gone'));
    const waiting = abortable(deferred().promise, controller);
    onAbort(controller, () => void called.push('last'));
    expect(controller.listenerCount).toBe(4);
    forget();
    expect(controller.listenerCount).toBe(3);
    controller.abort(new Error('over'));
    controller.abort(new Error('again'));
    expect(called).toEqual(['first', 'last']);
    expect(controller.listenerCount).toBe(0);
    await expect(waiting).rejects.toThrow('over');
  });

  it('calls a listener that is added later at once', () => {
    const controller = new LazyAbortController();
    controller.abort('over');
    const called: string[] = [];
    onAbort(controller, () => void called.push('late'));
    expect(called).toEqual(['late']);
    expect(() => controller.throwIfAborted()).toThrow('over');
  });

  it.each(['before', 'after'])('has a signal of the platform that aborts with it, asked for %s', (when) => {
    const controller = new LazyAbortController();
    const asked = when === 'before' ? controller.signal : undefined;
    const reason = new Error('over');
    controller.abort(reason);
    expect(controller.signal).toBe(asked ?? controller.signal);
    expect([controller.signal.aborted, controller.signal.reason]).toEqual([true, reason]);
    expect([controller.aborted, controller.reason]).toEqual([true, reason]);
  });

  it('shows its signal as aborted to all its listeners, and calls them before those of the signal', () => {
    const controller = new LazyAbortController();
    const { signal } = controller;
    const called: unknown[] = [];
    signal.addEventListener('abort', () => void called.push('of the signal'));
    onAbort(controller, () => void called.push([signal.aborted, signal.reason, controller.reason]));
    controller.abort('over');
    expect(called).toEqual([[true, 'over', 'over'], 'of the signal']);
  });

  it('calls no listener for an event that other code makes up', () => {
    const controller = new LazyAbortController();
    const called: string[] = [];
    onAbort(controller, () => void called.push('called'));
    controller.signal.dispatchEvent(new Event('abort'));
    expect(called).toEqual([]);
    controller.abort('over');
    expect(called).toEqual(['called']);
  });

  it('calls no listener that was removed meanwhile, even by another listener', () => {
    const controller = new LazyAbortController();
    const called: string[] = [];
    onAbort(controller, () => {
      called.push('first');
      forget();
    });
    const forget = onAbort(controller, () => void called.push('gone'));
    controller.abort('over');
    expect(called).toEqual(['first']);
  });

  it('makes its reason once, when it is asked for', () => {
    const controller = new LazyAbortController<Error>();
    let made = 0;
    controller.abortFor(() => {
      made++;
      return new Error('over');
    });
    expect([controller.aborted, made]).toEqual([true, 0]);
    expect(controller.reason).toBe(controller.reason);
    expect(controller.signal.reason).toBe(controller.reason);
    expect(made).toBe(1);
  });

  it('has not aborted before, and nothing is thrown', () => {
    const controller = new LazyAbortController();
    controller.throwIfAborted();
    expect([controller.aborted, controller.reason, controller.signal.aborted]).toEqual([
      false,
      undefined,
      false,
    ]);
  });
});

describe('a lazy abort controller that follows others', () => {
  it('aborts with the first of them, for the same reason, be they signals or lazy controllers', () => {
    const [own, theirs] = [new LazyAbortController(), new AbortController()];
    const { controller } = anyAbort(own, undefined, theirs.signal);
    theirs.abort('theirs');
    own.abort('own');
    expect([controller.aborted, controller.reason]).toEqual([true, 'theirs']);
  });

  it('has aborted if one of them has', () => {
    const own = new LazyAbortController();
    own.abort('own');
    expect(anyAbort(own).controller.reason).toBe('own');
  });

  it('follows them no longer when it is asked to stop', () => {
    const own = new LazyAbortController();
    const { controller, unsubscribe } = anyAbort(own);
    unsubscribe();
    own.abort('own');
    expect(controller.aborted).toBe(false);
  });
});

describe('a signal of a caller', () => {
  it('may end any number of waits: it has one listener, as long as one of them waits', () => {
    const { signal } = new AbortController();
    const unsubscribes = Array.from({ length: 50 }, () => onAbort(signal, () => undefined));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    for (const unsubscribe of unsubscribes) unsubscribe();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('calls each of them once when it aborts, but for those that have ended, and a later one at once', () => {
    const controller = new AbortController();
    const { signal } = controller;
    const calls: string[] = [];
    onAbort(signal, () => calls.push('first'))();
    onAbort(signal, () => calls.push('second'));
    onAbort(signal, () => calls.push('third'));
    signal.dispatchEvent(new Event('abort')); // Any code that has the signal can do that.
    expect(calls).toEqual([]);
    controller.abort();
    onAbort(signal, () => calls.push('later'));
    expect(calls).toEqual(['second', 'third', 'later']);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
