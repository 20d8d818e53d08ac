import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { holdersAmong, lockViewOf } from '../../../../src/overview/model/lock-view.js';
import { shownData, shownId } from '../../../../src/overview/model/read-limits.js';
import { ServerClock } from '../../../../src/overview/model/server-clock.js';
import { parseServerStatus } from '../../../../src/overview/reading/heartbeat-and-server-polls.js';
import type { QueueEntry } from '../../../../src/queue/names-and-order.js';

const UUID = '01234567-89ab-4def-8123-456789abcdef';
const entry = (purpose: QueueEntry['purpose'], sequence = 0): QueueEntry => ({
  ...{ node: `_c_${UUID}-${purpose}-${sequence}`, id: UUID, purpose, sequence },
});

describe('the holders of a lock', () => {
  it.each<[string, QueueEntry['purpose'][], number, number]>([
    ['one of a plain lock', ['lock', 'lock'], 1, 1],
    ['none of an empty queue', [], 3, 0],
    ['as many as a semaphore has seats', ['lock', 'lock', 'lock'], 2, 2],
    ['all contenders of a semaphore with more seats', ['lock'], 2, 1],
    ['all readers ahead of a writer', ['read', 'read', 'write', 'read'], 1, 2],
    ['one writer', ['write', 'read'], 1, 1],
    ['all readers', ['read', 'read'], 1, 2],
  ])('are %s', (_, purposes, capacity, expected) => {
    expect(
      holdersAmong(
        purposes.map((purpose) => entry(purpose)),
        capacity,
      ),
    ).toBe(expected);
  });

  it('are shown with what other clients say of themselves, and else by their uuids', () => {
    const read = (data: string) => ({ entry: entry('lock'), data: Buffer.from(data), at: 5 });
    const { queue } = lockViewOf('/a', { name: 'lock', capacity: 1 }, [
      read(''),
      read('10.0.0.1'),
      read('\xff'.repeat(3)),
    ]);
    expect(queue.map(({ id, since }) => [id, since])).toEqual([
      [UUID, 5],
      ['10.0.0.1', 5],
      ['ÿÿÿ', 5],
    ]);
  });
});

const isWellRead = (text: string) => !text.includes('\uFFFD');

describe('text of other clients', () => {
  it('is shortened to 200 characters, ids to 256, and never within a character', () => {
    fc.assert(
      // A replacement character shows that the bytes were no text.
      fc.property(fc.string({ unit: 'grapheme', maxLength: 600 }).filter(isWellRead), (text) => {
        const id = shownId(text);
        const data = shownData(text);
        expect([...id].length).toBeLessThanOrEqual(256);
        if (text.length <= 256) expect(id).toBe(text);
        if (text !== '') expect([...(data ?? '')].length).toBeLessThanOrEqual(200);
        if (text.length <= 200 && text !== '') expect(data).toBe(text);
        expect(/\p{Surrogate}/u.test(id)).toBe(false);
      }),
    );
  });

  it('ends with an ellipsis if it was cut, also if each character takes two code units', () => {
    const emoji = '\u{1f600}';
    expect(shownId(emoji.repeat(256))).toBe(emoji.repeat(256));
    for (const count of [257, 300, 512, 600])
      expect(shownId(emoji.repeat(count))).toBe(`${emoji.repeat(255)}…`);
    expect(shownId(`a${emoji.repeat(300)}`)).toBe(`a${emoji.repeat(254)}…`);
    expect(shownData(emoji.repeat(201))).toBe(`${emoji.repeat(199)}…`);
  });

  it('is left out if it is no text', () => {
    expect(shownData(undefined)).toBeUndefined();
    expect(shownData('')).toBeUndefined();
    expect(shownData(new Uint8Array([1]))).toBeUndefined();
    expect(shownData(Buffer.from([0xff, 0xfe]).toString('utf8'))).toBeUndefined();
  });
});

describe("the servers' clock", () => {
  it('is taken as the same as long as nothing shows a difference', () => {
    const clock = new ServerClock();
    expect(clock.toLocal(1000)).toBe(1000);
    clock.sample(990, 1000);
    expect(clock.toLocal(1000)).toBe(1000);
  });

  it('is ahead, or behind, by what the best of the newest samples shows', () => {
    const ahead = new ServerClock();
    for (const late of [400, 3, 90]) ahead.sample(60_000 - late, 0);
    expect(ahead.toLocal(60_000)).toBe(3);
    const behind = new ServerClock();
    behind.sample(0, 60_005);
    expect(behind.toLocal(0)).toBe(60_005);
    for (let each = 0; each < 64; each++) ahead.sample(0, 0);
    expect(ahead.toLocal(60_000)).toBe(60_000); // The clock was set back.
  });
});

describe('what a server says of itself', () => {
  it.each([
    [
      'Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on x\nMode: leader\n',
      { role: 'leader', version: '3.8.0' },
    ],
    ['Mode: follower\nNode count: 5\n', { role: 'follower' }],
    ['Mode: standalone\n', { role: 'standalone' }],
    ['srvr is not executed because it is not in the whitelist.\n', { role: 'unknown' }],
    ['Mode: constructor\n', { role: 'unknown' }],
    ['', { role: 'unknown' }],
  ])('%j', (answer, expected) => {
    expect(parseServerStatus(answer)).toEqual(expected);
  });
});
