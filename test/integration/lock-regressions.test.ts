import { describe, expect, it, vi } from 'vitest';
import { Semaphore } from '../../src/lock/semaphore.js';
import { openSession, uniquePath } from '../helpers/cluster.js';

/** Every bug of the locks and of the seats that was found after their code had landed, by what went wrong. */

describe('a semaphore', () => {
  it('let one in that only tried, by the number of seats from before they became fewer', async () => {
    const path = uniquePath('bug');
    const [first, second] = [await openSession(), await openSession()];
    const holder = new Semaphore(first, path, 2);
    const hold = await holder.acquire();
    const create = second.create.bind(second);
    vi.spyOn(second, 'create').mockImplementationOnce(async (...args) => {
      await holder.resize(1);
      return await create(...args);
    });
    expect(await new Semaphore(second, path, 2).tryAcquire()).toBeUndefined();
    expect(hold.isHeld()).toBe(true);
    expect(await first.getChildren(path)).toHaveLength(1);
  });
});
