import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { UnfinishedResponses } from '../../../src/dashboard/unfinished-responses.js';
import { TestClock } from '../../../src/testing/controls/test-clock.js';

const MIB = 1024 * 1024;

function setUp() {
  let watched = 0;
  const clock = new TestClock();
  const answers = new UnfinishedResponses(clock, () => {
    watched++;
    return () => void watched--;
  });
  const follow = (signal = new AbortController().signal) => answers.follow([], signal).getReader();
  const ask = (chunks: readonly Uint8Array[], signal = new AbortController().signal) =>
    answers.answer(chunks, signal).getReader();
  /** What the reader gets until nothing waits for it any more: the number of bytes, or the error. */
  const rest = async (reader: ReturnType<typeof follow>): Promise<number | Error> => {
    let bytes = 0;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return bytes;
        bytes += value.byteLength;
      }
    } catch (error) {
      return error as Error;
    }
  };
  return { clock, answers, follow, ask, rest, watched: () => watched };
}

const TOO_SLOW = expect.objectContaining({ message: expect.stringContaining('reads too slowly') });

describe('the answers that visitors read', () => {
  it('share their bytes, which count once, and come in small parts', async () => {
    const { answers, follow, ask, rest } = setUp();
    const shared = new Uint8Array(15 * MIB);
    const silent = Array.from({ length: 100 }, () => ask([shared]));
    const streams = Array.from({ length: 100 }, () => follow());
    answers.send(shared);
    const first = await (silent[0] as ReturnType<typeof ask>).read();
    expect(first.value).toHaveLength(64 * 1024);
    expect(first.value?.buffer).toBe(shared.buffer);
    const got = Promise.all([...silent.slice(1), ...streams].map(rest));
    answers.close();
    expect(new Set(await got).size).toBeLessThanOrEqual(2);
  });

  it('are cut off, with all that waits, if their visitors read nothing and more than 16 MiB wait together', async () => {
    const { answers, follow, ask, rest, watched } = setUp();
    const silent = Array.from({ length: 10 }, () => follow());
    const slow = ask([new Uint8Array(MIB)]);
    const attentive = follow();
    const got = rest(attentive);
    for (let mib = 0; mib < 20; mib++) answers.send(new Uint8Array(MIB));
    await new Promise(setImmediate);
    expect(await Promise.all(silent.map(rest))).toEqual(silent.map(() => TOO_SLOW));
    expect(await rest(slow)).toBe(MIB);
    answers.close();
    expect(await got).toEqual(TOO_SLOW); // The test's events come within one turn, in which no visitor reads.
    expect(watched()).toBe(0);
  });

  it('are cut off from the one that is furthest behind on', async () => {
    const { answers, ask, follow, rest } = setUp();
    const behind = follow();
    answers.send(new Uint8Array(10 * MIB));
    const later = follow();
    answers.send(new Uint8Array(5 * MIB));
    const last = ask([new Uint8Array(5 * MIB)]);
    answers.close();
    expect(await rest(behind)).toEqual(TOO_SLOW);
    expect([await rest(later), await rest(last)]).not.toContainEqual(TOO_SLOW);
  });

  it('are cut off when their visitors have read nothing for half a minute, and streams without news are not', async () => {
    const { clock, answers, ask, follow, rest } = setUp();
    const stalled = ask([new Uint8Array(MIB)]);
    await stalled.read();
    const quiet = follow();
    const silent = follow();
    await quiet.read();
    for (let seconds = 0; seconds < 60; seconds += 5) {
      const next = quiet.read();
      answers.send(new Uint8Array(1));
      await next;
      await clock.advance(5000);
    }
    expect(await rest(stalled)).toEqual(TOO_SLOW);
    expect(await rest(silent)).toEqual(TOO_SLOW);
    answers.close();
    expect(await rest(quiet)).not.toEqual(TOO_SLOW);
  });

  it('leave no listener at the signals of their requests when they end', async () => {
    const { ask, rest } = setUp();
    const { signal } = new AbortController();
    expect(await rest(ask([new Uint8Array(1)], signal))).toBe(1);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('are full at a hundred, and so are the streams, until one of them ends', () => {
    const { answers, ask, follow } = setUp();
    const leaving = new AbortController();
    ask([new Uint8Array(1)], leaving.signal);
    follow(leaving.signal);
    for (let count = 1; count < 100; count++) {
      expect([answers.areFull, answers.streamsAreFull]).toEqual([false, false]);
      ask([new Uint8Array(1)]);
      follow();
    }
    expect([answers.areFull, answers.streamsAreFull]).toEqual([true, true]);
    leaving.abort();
    expect([answers.areFull, answers.streamsAreFull]).toEqual([false, false]);
    answers.close();
  });
});
