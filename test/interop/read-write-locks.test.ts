import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Purpose } from '../../src/queue/names-and-order.js';
import { openSession } from '../support/conclave/sessions.js';
import {
  everyPair,
  type Kind,
  numberOf,
  Queue,
  serve,
  shareForeignClients,
  type Turn,
} from './support/shared-queue.js';

shareForeignClients('Curator');

type Comer = readonly [kind: Kind, purpose: Purpose];

const COMERS: readonly Comer[] = [
  ['ours', 'read'],
  ['Curator', 'read'],
  ['ours', 'write'],
  ['Curator', 'write'],
];

const joinAll = async (queue: Queue, comers: readonly Comer[]): Promise<Turn[]> => {
  const turns: Turn[] = [];
  for (const [kind, purpose] of comers) turns.push(await queue.join(kind, { purpose }));
  return turns;
};

const childNames = (turns: readonly Turn[]) => turns.map(({ node }) => node);

/** Whether a turn holds. The function waits long enough for a notification. */
const holds = async ({ held }: Turn) =>
  await Promise.race([held.then((node) => node !== undefined), pause(300, false)]);

describe("a read-write lock that is Conclave's and Curator's", () => {
  it('lets readers of both in together and writers alone, in the order of joining', async () => {
    const queue = new Queue(await openSession());
    const turns = await joinAll(queue, everyPair(COMERS));
    expect(await queue.nodes()).toEqual(childNames(turns));
    expect(await serve(turns)).toEqual(childNames(turns));
    expect(await queue.nodes()).toEqual([]);
  });

  it('keeps readers of both out while a writer of either waits for readers', async () => {
    for (const writer of ['ours', 'Curator'] as const) {
      const queue = new Queue(await openSession());
      const turns = await joinAll(queue, [
        ['Curator', 'read'],
        ['ours', 'read'],
        [writer, 'write'],
        ['ours', 'read'],
        ['Curator', 'read'],
      ]);
      const [first, second, waiting, third, fourth] = turns as [Turn, Turn, Turn, Turn, Turn];
      await Promise.all([first.held, second.held]);
      expect(await Promise.all([waiting, third, fourth].map(holds))).toEqual([false, false, false]);
      expect(await serve(turns)).toEqual(childNames(turns));
    }
  });

  it('excludes all that have to be while all come and go', async () => {
    const queue = new Queue(await openSession());
    const idle = [...COMERS, ...COMERS, ...COMERS].map(([kind, purpose]) => ({
      kind,
      purpose,
      contender: queue.contender(kind, { purpose }),
    }));
    const served: { readonly number: number; readonly purpose: Purpose }[] = [];
    const pairs = new Set<string>();
    const reading = { ours: 0, Curator: 0, kazoo: 0 };
    let hasShared = false;
    let last = 'none';
    const lane = async () => {
      // It goes on until each kind has followed each kind, and both clients have read at once. Only the queue decides when that is.
      while (served.length < 100 || pairs.size <= COMERS.length ** 2 || !hasShared) {
        const [next] = idle.splice(Math.floor(Math.random() * idle.length), 1);
        if (next === undefined) throw new Error('there are fewer contenders than lanes');
        const { kind, purpose, contender } = next;
        served.push({ number: numberOf((await contender.acquire()) ?? 'timeout'), purpose });
        pairs.add(`${kind} ${purpose} behind ${last}`);
        last = `${kind} ${purpose}`;
        if (purpose === 'read') reading[kind]++;
        hasShared ||= reading.ours > 0 && reading.Curator > 0;
        await pause(Math.random() * 5);
        if (purpose === 'read') reading[kind]--;
        await contender.release();
        idle.push(next);
      }
    };
    await Promise.all(Array.from({ length: 8 }, lane));
    // The test may hear of readers in any order. But it hears of readers before a writer before that writer, and of the others after it.
    for (const [index, { number, purpose }] of served.entries())
      if (purpose === 'write') expect(number).toBe(index);
    expect(served.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(
      served.map((_, index) => index),
    );
    expect(await queue.nodes()).toEqual([]);
  });

  it('shows each its contenders: Curator those of one side, Conclave all', async () => {
    const queue = new Queue(await openSession());
    const turns = await joinAll(queue, everyPair(COMERS));
    expect(await queue.listedBy('ours', 'read')).toEqual(childNames(turns));
    expect(await queue.listedBy('ours', 'write')).toEqual(childNames(turns));
    for (const side of ['read', 'write'] as const)
      expect(await queue.listedBy('Curator', side)).toEqual(
        childNames(turns.filter(({ purpose }) => purpose === side)),
      );
    const entries = await queue.lock('read').contenders();
    expect(entries.map(({ purpose }) => purpose)).toEqual(turns.map(({ purpose }) => purpose));
    await serve(turns);
  });

  it('passes on when one gave up between the holder and those behind', async () => {
    for (const kind of ['ours', 'Curator'] as const) {
      const other = kind === 'ours' ? 'Curator' : 'ours';
      const queue = new Queue(await openSession());
      const reader = await queue.join(kind, { purpose: 'read' });
      const impatient = await queue.join(kind, { purpose: 'write', timeoutMs: 300 });
      const behind = await queue.join(other, { purpose: 'read' });
      expect(await impatient.held).toBeUndefined();
      // No contender is left between the reader and the contender behind it.
      expect(await serve([reader, behind])).toEqual([reader.node, behind.node]);
    }
  });
});

describe('a write lock that is made a read lock on a path of both', () => {
  it('of Conclave lets its own readers in, and those of Curator when it is released', async () => {
    const queue = new Queue(await openSession());
    const turns = await joinAll(queue, [
      ['ours', 'write'],
      ['Curator', 'read'],
      ['ours', 'read'],
      ['Curator', 'write'],
    ]);
    const [own, theirs, beside, writer] = turns as [Turn, Turn, Turn, Turn];
    await own.held;
    await own.downgrade();
    await beside.held;
    expect(await Promise.all([theirs, writer].map(holds))).toEqual([false, false]);
    await own.release();
    expect(await serve([theirs, beside, writer])).toEqual(childNames([theirs, beside, writer]));
  });

  it('of Curator is one of the readers, where no writer waits', async () => {
    const queue = new Queue(await openSession());
    const [own, beside] = (await joinAll(queue, [
      ['Curator', 'write'],
      ['ours', 'read'],
    ])) as [Turn, Turn];
    await own.held;
    await own.downgrade();
    const writer = await queue.join('ours', { purpose: 'write' });
    await beside.held;
    expect(await holds(writer)).toBe(false);
    await beside.release();
    expect(await holds(writer)).toBe(false);
    await own.release();
    expect(await serve([writer])).toEqual([writer.node]);
  });

  it.each(['ours', 'Curator'] as const)(
    'of Curator does not exclude a writer of %s that waits already: both hold',
    async (kind) => {
      const queue = new Queue(await openSession(), undefined, { guarded: false });
      const [own, writer] = (await joinAll(queue, [
        ['Curator', 'write'],
        [kind, 'write'],
      ])) as [Turn, Turn];
      await own.held;
      await own.downgrade();
      expect(await writer.held).toBe(writer.node);
      // The reader's node is behind the writer's.
      const [first, second, ...others] = await queue.nodes();
      expect([first, second, others]).toEqual([writer.node, expect.stringContaining('__READ__'), []]);
      await Promise.all([own.release(), writer.release()]);
    },
  );
});

describe('a path on which one has a read-write lock and another a plain one', () => {
  it.each<[first: Kind, purpose: Purpose, second: Kind, later: Purpose]>([
    ['ours', 'lock', 'Curator', 'write'],
    ['ours', 'lock', 'Curator', 'read'],
    ['Curator', 'lock', 'Curator', 'write'],
    ['Curator', 'lock', 'Curator', 'read'],
    ['ours', 'write', 'Curator', 'lock'],
    ['ours', 'read', 'Curator', 'lock'],
    ['Curator', 'write', 'Curator', 'lock'],
    ['Curator', 'read', 'Curator', 'lock'],
  ])('is held by %s to %s, and at the same time by %s to %s', async (first, purpose, second, later) => {
    const queue = new Queue(await openSession(), undefined, { guarded: false });
    const turns = await joinAll(queue, [
      [first, purpose],
      [second, later],
    ]);
    expect(await Promise.all(turns.map(({ held }) => held))).toEqual(childNames(turns));
    expect(await queue.nodes()).toEqual(childNames(turns));
    await Promise.all(turns.map((turn) => turn.release()));
  });

  it('is not held by Conclave and Curator at once', async () => {
    for (const [purpose, later] of [
      ['lock', 'write'],
      ['lock', 'read'],
      ['write', 'lock'],
      ['read', 'lock'],
    ] as const) {
      const queue = new Queue(await openSession());
      const turns = await joinAll(queue, [
        ['Curator', purpose],
        ['ours', later],
      ]);
      expect(await serve(turns)).toEqual(childNames(turns));
    }
  });
});
