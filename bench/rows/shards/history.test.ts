import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changeOf, gapsOf, lastAcquiredAt, type ShardEvent } from './history.mjs';

const event = (
  atMs: number,
  member: number,
  shard: string,
  kind: ShardEvent['kind'] = 'acquired',
): ShardEvent => ({ atMs, member, shard, kind });

/** A shard passes from one member to another. */
const move = (shard: string, from: number, to: number, atMs: number, gapMs: number) => [
  event(atMs, from, shard, 'ended'),
  event(atMs + gapMs / 2, from, shard, 'released'),
  event(atMs + gapMs, to, shard),
];

describe('the change that events of shards tell of', () => {
  it('has the shards that have another owner, and how long each had none', () => {
    const change = changeOf([...move('a', 0, 2, 10, 5), ...move('b', 1, 2, 11, 9)]);
    expect(change).toEqual({
      moved: [
        { shard: 'a', from: 0, to: 2, gapMs: 5 },
        { shard: 'b', from: 1, to: 2, gapMs: 9 },
      ],
      interrupted: 2,
      eventsOfStayed: 0,
      spanMs: 10,
    });
  });

  it('tells shards that were let go and taken back from those that moved', () => {
    const change = changeOf([...move('a', 0, 0, 10, 5), ...move('b', 0, 1, 10, 1)]);
    expect(change).toMatchObject({ eventsOfStayed: 3, interrupted: 2, spanMs: 5 });
    expect(change.moved.map(({ shard }) => shard)).toEqual(['b']);
  });

  it('counts a shard that passed through several members once', () => {
    const through = [...move('a', 0, 1, 0, 2), ...move('a', 1, 2, 5, 2)];
    expect(changeOf(through).moved).toEqual([{ shard: 'a', from: 0, to: 2, gapMs: 7 }]);
    const back = [...move('a', 0, 1, 0, 2), ...move('a', 1, 0, 5, 2)];
    expect(changeOf(back)).toMatchObject({ moved: [], eventsOfStayed: 6 });
  });

  it('is nothing without events', () => {
    expect(changeOf([])).toEqual({ moved: [], interrupted: 0, eventsOfStayed: 0, spanMs: 0 });
  });

  it('doesn’t depend on the order in which the events of several members come', () => {
    const events = [...move('a', 0, 2, 10, 5), ...move('b', 1, 0, 11, 9), ...move('c', 1, 1, 12, 3)];
    fc.assert(
      fc.property(fc.shuffledSubarray(events, { minLength: events.length }), (shuffled) => {
        const inOrder = changeOf(events);
        const change = changeOf(shuffled);
        expect({ ...change, moved: new Set(change.moved) }).toEqual({
          ...inOrder,
          moved: new Set(inOrder.moved),
        });
      }),
    );
  });
});

describe('what is taken from events of shards besides', () => {
  it('leaves first owners out of the times of moves', () => {
    expect(gapsOf([event(1, 0, 'a'), ...move('b', 0, 1, 2, 4)])).toEqual([4]);
  });

  it('has the time of the last shard that got its owner', () => {
    expect(lastAcquiredAt([...move('a', 0, 2, 10, 5), event(99, 2, 'b', 'ended')])).toBe(15);
  });
});
