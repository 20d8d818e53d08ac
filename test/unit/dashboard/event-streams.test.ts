import { describe, expect, it } from 'vitest';
import { EventStreams } from '../../../src/dashboard/event-streams.js';
import { TestClock } from '../../../src/testing/controls/test-clock.js';

const MIB = 1024 * 1024;

function setUp() {
  let watched = 0;
  const streams = new EventStreams(new TestClock(), () => {
    watched++;
    return () => void watched--;
  });
  const open = (signal = new AbortController().signal) =>
    streams.open('state', () => ({}), signal).getReader();
  /** What the reader gets until nothing waits for it any more: the chunks' lengths, or the error. */
  const rest = async (reader: ReturnType<typeof open>): Promise<readonly number[] | Error> => {
    const lengths: number[] = [];
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return lengths;
        lengths.push(value.byteLength);
      }
    } catch (error) {
      return error as Error;
    }
  };
  return { streams, open, rest, watched: () => watched };
}

describe('the streams of events', () => {
  it('are cut off, with all that waits, if their visitors read nothing and more than 16 MiB wait together', async () => {
    const { streams, open, rest, watched } = setUp();
    const silent = Array.from({ length: 10 }, () => open());
    const attentive = open();
    await attentive.read(); // The state.
    const got: number[] = [];
    for (let mib = 0; mib < 20; mib++) {
      const next = attentive.read();
      streams.send('change', 'x'.repeat(MIB));
      got.push((await next).value?.byteLength ?? 0);
    }
    expect(got).toHaveLength(20);
    expect(Math.min(...got)).toBeGreaterThan(MIB);
    streams.close();
    const ends = await Promise.all(silent.map(rest));
    const cutOff = ends.filter((end) => end instanceof Error);
    expect(cutOff.length).toBeGreaterThanOrEqual(9);
    expect(cutOff.every(({ message }) => message.includes('reads too slowly'))).toBe(true);
    expect(await rest(attentive)).toEqual([]);
    expect(watched()).toBe(0);
  });

  it('are cut off from the one that is furthest behind on', async () => {
    const { streams, open, rest } = setUp();
    const behind = open();
    streams.send('change', 'x'.repeat(10 * MIB));
    const later = open();
    streams.send('change', 'x'.repeat(5 * MIB));
    streams.close();
    expect(await rest(behind)).toBeInstanceOf(Error);
    expect(await rest(later)).toHaveLength(2);
  });

  it('are full at a hundred, until one of them ends', () => {
    const { streams, open } = setUp();
    const leaving = new AbortController();
    open(leaving.signal);
    for (let count = 1; count < 100; count++) {
      expect(streams.areFull).toBe(false);
      open();
    }
    expect(streams.areFull).toBe(true);
    leaving.abort();
    expect(streams.areFull).toBe(false);
    streams.close();
  });
});
