import { describe, expect, it } from 'vitest';
import { EventStream, type Source } from '../../../../../src/dashboard/page/browser/event-stream.js';

class FakeSource implements Source {
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

function opened() {
  const sources: FakeSource[] = [];
  const timers: { run: () => void; ms: number }[] = [];
  const heard: string[] = [];
  const stream = new EventStream(
    '/api/events',
    {
      state: ({ now }) => heard.push(`state ${now}`),
      change: ({ now }) => heard.push(`change ${now}`),
      lost: () => heard.push('lost'),
    },
    {
      open: () => {
        const source = new FakeSource();
        sources.push(source);
        return source;
      },
      later: (run, ms) => {
        const timer = { run, ms };
        timers.push(timer);
        return () => void timers.splice(timers.indexOf(timer), 1);
      },
      random: () => 1,
    },
  );
  stream.open();
  const fire = () => timers.shift()?.run();
  return { stream, sources, timers, heard, fire };
}

describe('the stream of events', () => {
  it('is opened again after a failure, after pauses that grow up to ten seconds', () => {
    const { sources, timers, heard, fire } = opened();
    const pauses: (number | undefined)[] = [];
    for (let failure = 0; failure < 7; failure += 1) {
      sources.at(-1)?.emit('error');
      pauses.push(timers[0]?.ms);
      fire();
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(sources).toHaveLength(8);
    expect(sources.slice(0, -1).every(({ isClosed }) => isClosed)).toBe(true);
    expect(heard.filter((each) => each === 'lost')).toHaveLength(7);
    sources.at(-1)?.emit('state', { now: 1 });
    sources.at(-1)?.emit('error');
    expect(timers[0]?.ms).toBe(500);
  });

  it('passes on what it receives, and is opened again when it has been silent for too long', () => {
    const { sources, timers, heard, fire } = opened();
    sources[0]?.emit('state', { now: 1 });
    sources[0]?.emit('change', { now: 2 });
    expect(timers).toHaveLength(1);
    fire();
    expect(heard).toEqual(['state 1', 'change 2', 'lost']);
    expect(sources[0]?.isClosed).toBe(true);
  });

  it('is not silent while the server says that it is alive', () => {
    const { sources, timers, heard } = opened();
    const [first] = timers;
    sources[0]?.emit('alive', {});
    expect(timers).toHaveLength(1);
    expect(timers[0]).not.toBe(first);
    expect(heard).toEqual([]);
  });

  it('hears nothing more of a source that it has closed', () => {
    const { sources, heard, fire } = opened();
    sources[0]?.emit('error');
    fire();
    sources[0]?.emit('state', { now: 1 });
    sources[0]?.emit('error');
    expect(heard).toEqual(['lost']);
    expect(sources).toHaveLength(2);
  });

  it('pauses no longer when it is to hurry, and stays open where it is', () => {
    const { stream, sources, timers } = opened();
    stream.hurry();
    expect(sources).toHaveLength(1);
    sources[0]?.emit('error');
    stream.hurry();
    expect(sources).toHaveLength(2);
    expect(timers).toHaveLength(1);
  });

  it('leaves no timer when it is closed', () => {
    const { stream, sources, timers } = opened();
    stream.close();
    expect(timers).toHaveLength(0);
    stream.open();
    sources.at(-1)?.emit('error');
    stream.close();
    expect(timers).toHaveLength(0);
  });
});
