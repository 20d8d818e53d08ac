import { describe, expect, it } from 'vitest';
import { DropOldestQueue } from '../../../../src/platform/collections/drop-oldest-queue.js';

function backlog(limit = 10) {
  let returned = 0;
  const changes = new DropOldestQueue<number>(limit, () => void returned++);
  return { changes, returned: () => returned };
}

async function drain(changes: DropOldestQueue<number>): Promise<number[]> {
  const given: number[] = [];
  for await (const each of changes) given.push(each);
  return given;
}

describe('a backlog', () => {
  it('gives everything in order, be it there already or asked for before', async () => {
    const { changes } = backlog();
    changes.push(1);
    changes.push(2);
    const asked = [changes.next(), changes.next(), changes.next(), changes.next()];
    changes.push(3);
    changes.push(4);
    expect(await Promise.all(asked)).toEqual([1, 2, 3, 4].map((value) => ({ done: false, value })));
  });

  it('drops the oldest of what a slow consumer has still to be given', async () => {
    const { changes } = backlog(3);
    for (let each = 1; each <= 10; each++) changes.push(each);
    changes.end();
    expect(await drain(changes)).toEqual([8, 9, 10]);
  });

  it('ends after what it has still to give, and takes no more', async () => {
    const { changes, returned } = backlog();
    changes.push(1);
    changes.end();
    changes.push(2);
    expect(await drain(changes)).toEqual([1]);
    expect(returned()).toBe(0);
  });

  it('ends for those who wait', async () => {
    const { changes } = backlog();
    const waiting = [changes.next(), changes.next()];
    changes.end();
    expect(await Promise.all(waiting)).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });

  it('keeps nothing when its consumer has left the loop, and says so', async () => {
    const { changes, returned } = backlog();
    changes.push(1);
    changes.push(2);
    for await (const each of changes) {
      expect(each).toBe(1);
      break;
    }
    changes.push(3);
    expect(await changes.next()).toEqual({ done: true, value: undefined });
    expect(returned()).toBe(1);
  });
});
