import { describe, expect, it } from 'vitest';
import { LazyAbortController, onAbort } from '../../../../src/platform/async/lazy-abort.js';
import { abortable, anyAbort, deferred } from '../../../../src/platform/async/promises.js';

describe('an ending', () => {
  it('tells all who wait for it once, in the order in which they came, but for those that have gone', async () => {
    const ending = new LazyAbortController();
    const told: string[] = [];
    onAbort(ending, () => void told.push('first'));
    const forget = onAbort(ending, () => void told.push('gone'));
    const waiting = abortable(deferred().promise, ending);
    onAbort(ending, () => void told.push('last'));
    expect(ending.listenerCount).toBe(4);
    forget();
    expect(ending.listenerCount).toBe(3);
    ending.abort(new Error('over'));
    ending.abort(new Error('again'));
    expect(told).toEqual(['first', 'last']);
    expect(ending.listenerCount).toBe(0);
    await expect(waiting).rejects.toThrow('over');
  });

  it('tells whoever comes later at once', () => {
    const ending = new LazyAbortController();
    ending.abort('over');
    const told: string[] = [];
    onAbort(ending, () => void told.push('late'));
    expect(told).toEqual(['late']);
    expect(() => ending.throwIfAborted()).toThrow('over');
  });

  it.each(['before', 'after'])('has a signal of the platform that aborts with it, asked for %s', (when) => {
    const ending = new LazyAbortController();
    const asked = when === 'before' ? ending.signal : undefined;
    const reason = new Error('over');
    ending.abort(reason);
    expect(ending.signal).toBe(asked ?? ending.signal);
    expect([ending.signal.aborted, ending.signal.reason]).toEqual([true, reason]);
    expect([ending.aborted, ending.reason]).toEqual([true, reason]);
  });

  it('shows its signal as aborted to all whom it tells, and tells them before those of the signal', () => {
    const ending = new LazyAbortController();
    const { signal } = ending;
    const told: unknown[] = [];
    signal.addEventListener('abort', () => void told.push('of the signal'));
    onAbort(ending, () => void told.push([signal.aborted, signal.reason, ending.reason]));
    ending.abort('over');
    expect(told).toEqual([[true, 'over', 'over'], 'of the signal']);
  });

  it('tells nobody for an event that somebody else makes up', () => {
    const ending = new LazyAbortController();
    const told: string[] = [];
    onAbort(ending, () => void told.push('told'));
    ending.signal.dispatchEvent(new Event('abort'));
    expect(told).toEqual([]);
    ending.abort('over');
    expect(told).toEqual(['told']);
  });

  it('tells nobody who has gone meanwhile, be it because of another who was told', () => {
    const ending = new LazyAbortController();
    const told: string[] = [];
    onAbort(ending, () => {
      told.push('first');
      forget();
    });
    const forget = onAbort(ending, () => void told.push('gone'));
    ending.abort('over');
    expect(told).toEqual(['first']);
  });

  it('makes its reason once, when it is asked for', () => {
    const ending = new LazyAbortController<Error>();
    let made = 0;
    ending.abortFor(() => {
      made++;
      return new Error('over');
    });
    expect([ending.aborted, made]).toEqual([true, 0]);
    expect(ending.reason).toBe(ending.reason);
    expect(ending.signal.reason).toBe(ending.reason);
    expect(made).toBe(1);
  });

  it('has not aborted before, and nothing is thrown', () => {
    const ending = new LazyAbortController();
    ending.throwIfAborted();
    expect([ending.aborted, ending.reason, ending.signal.aborted]).toEqual([false, undefined, false]);
  });
});

describe('an ending with others', () => {
  it('aborts with the first of them, for the same reason, be they signals or endings', () => {
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

  it('follows them no longer when it is told to', () => {
    const own = new LazyAbortController();
    const { controller, unsubscribe } = anyAbort(own);
    unsubscribe();
    own.abort('own');
    expect(controller.aborted).toBe(false);
  });
});
