import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EventStream } from '../../../../../src/dashboard/page/browser/event-stream.js';

class FakeSource {
  readonly #listeners = new Map<string, (event: { data?: unknown }) => void>();
  isClosed = false;

  addEventListener(name: string, listener: (event: { data?: unknown }) => void): void {
    this.#listeners.set(name, listener);
  }

  close(): void {
    this.isClosed = true;
  }

  emit(name: string, data?: unknown): void {
    this.#listeners.get(name)?.({ data: JSON.stringify(data) });
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

function opened() {
  const sources: FakeSource[] = [];
  const heard: string[] = [];
  class Source extends FakeSource {
    constructor() {
      super();
      sources.push(this);
    }
  }
  vi.stubGlobal('EventSource', Source);
  const stream = new EventStream('/api/events', {
    state: ({ now }) => heard.push(`state ${now}`),
    change: ({ now }) => heard.push(`change ${now}`),
    lost: () => heard.push('lost'),
  });
  return { stream, sources, heard };
}

describe('the stream of events', () => {
  it('is opened again after a failure, after pauses that grow up to ten seconds', () => {
    const { sources, heard } = opened();
    for (const pause of [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      const { length } = sources;
      sources.at(-1)?.emit('error');
      vi.advanceTimersByTime(pause - 1);
      expect(sources).toHaveLength(length);
      vi.advanceTimersByTime(1);
      expect(sources).toHaveLength(length + 1);
    }
    expect(sources.slice(0, -1).every(({ isClosed }) => isClosed)).toBe(true);
    expect(heard.filter((each) => each === 'lost')).toHaveLength(7);
    sources.at(-1)?.emit('state', { now: 1 });
    sources.at(-1)?.emit('error');
    vi.advanceTimersByTime(500);
    expect(sources).toHaveLength(9);
  });

  it('passes on what it receives, and is opened again when it has been silent for too long', () => {
    const { sources, heard } = opened();
    sources[0]?.emit('state', { now: 1 });
    sources[0]?.emit('change', { now: 2 });
    vi.advanceTimersByTime(40_000);
    expect(heard).toEqual(['state 1', 'change 2', 'lost']);
    expect(sources[0]?.isClosed).toBe(true);
    vi.advanceTimersByTime(500);
    expect(sources).toHaveLength(2);
  });

  it('is not silent while the server says that it is alive', () => {
    const { sources, heard } = opened();
    for (let seconds = 0; seconds < 120; seconds += 30) {
      vi.advanceTimersByTime(30_000);
      sources[0]?.emit('alive', {});
    }
    expect(heard).toEqual([]);
  });

  it('pauses no longer when it is to hurry, and stays open where it is', () => {
    const { stream, sources } = opened();
    stream.hurry();
    expect(sources).toHaveLength(1);
    sources[0]?.emit('error');
    stream.hurry();
    expect(sources).toHaveLength(2);
    vi.advanceTimersByTime(500);
    expect(sources).toHaveLength(2);
  });
});
