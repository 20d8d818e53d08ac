import { describe, expect, it } from 'vitest';
import { PACE_MS, PacedWatch, ReadSlots } from '../../../../src/overview/reading/paced-watch.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const [session, other] = [await open(), await open()];
  await other.create('/node', { data: Buffer.from('0') });
  const told: string[] = [];
  const failed = (error: unknown) => void told.push(String(error));
  const gone = () => void told.push('gone');
  const ofData = () =>
    PacedWatch.ofData(session, new ReadSlots(1), '/node', {
      read: ({ data }) => void told.push(String(data)),
      gone,
      failed,
    });
  const ofChildren = () =>
    PacedWatch.ofChildren(session, new ReadSlots(1), '/node', {
      read: ({ value }) => void told.push(value.strings().sort().join()),
      gone,
      failed,
    });
  const write = async (data: string) => {
    await clock.advanceUntil(other.setData('/node', Buffer.from(data)));
    await clock.advance(1);
  };
  return { clock, server, session, other, told, ofData, ofChildren, write };
}

describe('what is read with a watch, at a pace', () => {
  it('is read at once after a change, if it has not changed for a while', async () => {
    const { clock, told, ofData, write } = await setUp();
    const watch = ofData();
    expect(watch.isStale).toBe(true);
    await clock.advance(PACE_MS);
    expect(watch.isStale).toBe(false);
    await write('1');
    expect(told).toEqual(['0', '1']);
  });

  it('is read no more often than that while it changes all the time, and in the end as it is', async () => {
    const { clock, server, told, ofData, write } = await setUp();
    ofData();
    await clock.advance(PACE_MS);
    server.resetCounts();
    for (let each = 1; each <= 50; each++) await write(String(each));
    await clock.advance(PACE_MS);
    expect(told.at(-1)).toBe('50');
    expect(server.count('getData')).toBeLessThan(5);
    expect(server.watchCount()).toBe(1);
  });

  it('is listed less often the more children it has, also if they are none that an overview shows', async () => {
    const { clock, server, other, told, ofChildren } = await setUp();
    const children = Array.from({ length: 2000 }, (_, at) => other.create(`/node/child-${at}`));
    await clock.advanceUntil(Promise.all(children));
    ofChildren();
    await clock.advance(PACE_MS);
    server.resetCounts();
    const countOf = () => server.count('getChildren');
    for (let each = 0; each < 40; each++) {
      await clock.advanceUntil(other.create(`/node/more-${each}`));
      await clock.advance(PACE_MS);
    }
    // In 4 s: at once, and then once in a second.
    expect(countOf()).toBeGreaterThanOrEqual(4);
    expect(countOf()).toBeLessThanOrEqual(5);
    await clock.advance(2000);
    expect(told.at(-1)?.split(',')).toHaveLength(2040);
  });

  it('is told of as gone once, also during a pause', async () => {
    const { clock, server, other, told, ofChildren } = await setUp();
    ofChildren();
    await clock.advance(PACE_MS);
    await other.create('/node/a');
    await clock.advance(1);
    await other.create('/node/b');
    await clock.advance(1);
    for (const path of ['/node/a', '/node/b', '/node']) await other.remove(path);
    await clock.advance(2 * PACE_MS);
    expect(told).toEqual(['', 'a', 'gone']);
    expect(server.watchCount()).toBe(0);
  });

  it('leaves no watch when it is stopped: while it reads, watches, pauses, or is without a connection', async () => {
    const { clock, server, session, other, told, ofData, write } = await setUp();
    ofData().stop();
    await clock.advance(10);
    const watching = ofData();
    await clock.advance(PACE_MS);
    watching.stop();
    const pausing = ofData();
    await clock.advance(10);
    await write('1');
    pausing.stop();
    await clock.advance(PACE_MS);
    const { id } = session.credentials;
    server
      .sessions()
      .find((each) => each.id === id)
      ?.dropConnection();
    await clock.advanceUntil(() => session.state.name === 'suspended');
    const held = ofData();
    held.stop();
    await clock.advanceUntil(session.whenConnected());
    await clock.advanceUntil(session.exists('/node'));
    await clock.advance(PACE_MS);
    await clock.advanceUntil(other.exists('/node'));
    expect(server.watchCount()).toBe(0);
    expect(told).toEqual(['0', '0']);
  });
});

it('reads run a number at a time, in the order in which they came, also when some fail', async () => {
  const slots = new ReadSlots(2);
  const begun: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const read = (number: number) =>
    slots.run(
      () =>
        new Promise<void>((resolve, reject) => {
          begun.push(number);
          ends.push((error) => (error === undefined ? resolve() : reject(error)));
        }),
    );
  const reads = [1, 2, 3, 4].map(read);
  await Promise.resolve();
  expect(begun).toEqual([1, 2]);
  ends[1]?.(new Error('refused'));
  await expect(reads[1]).rejects.toThrow('refused');
  await new Promise(setImmediate);
  expect(begun).toEqual([1, 2, 3]);
  ends[0]?.();
  ends[2]?.();
  await Promise.all([reads[0], reads[2]]);
  await new Promise(setImmediate);
  expect(begun).toEqual([1, 2, 3, 4]);
  ends[3]?.();
  await reads[3];
});
