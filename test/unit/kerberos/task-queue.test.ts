import { describe, expect, it } from 'vitest';
import { TaskQueue } from '../../../src/kerberos/task-queue.js';
import { deferred } from '../../../src/platform/async/promises.js';

const MS = 1_000_000n;

describe('turns', () => {
  it('come one after the other, also after one that failed', async () => {
    const turns = new TaskQueue();
    const first = deferred<void>();
    const order: string[] = [];
    const all = [
      turns.run(async () => {
        order.push('first');
        await first.promise;
        throw new Error('no ticket');
      }),
      turns.run(async () => void order.push('second')),
    ];
    await Promise.resolve();
    expect(order).toEqual(['first']);
    first.resolve();
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(order).toEqual(['first', 'second']);
  });

  it('are lost after a wait of 3 s, and the next one comes', async () => {
    let nowMs = 0n;
    const turns = new TaskQueue(() => nowMs * MS);
    const first = deferred<void>();
    const begun = deferred<void>();
    const slow = turns.run(() => {
      begun.resolve();
      return first.promise;
    });
    await begun.promise;
    const late = turns.run(async () => expect.unreachable('its caller has given up'));
    nowMs = 1n;
    const inTime = turns.run(async () => 'a ticket');
    nowMs = 3000n;
    first.resolve();
    await slow;
    await expect(late).rejects.toThrow(
      'Kerberos kept other connections of this process waiting for 3000 ms: is the KDC there?',
    );
    expect(await inTime).toBe('a ticket');
  });
});
