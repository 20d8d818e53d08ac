import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { isWithin, runFor, undertakingsAround } from '../../src/undertaking.js';

const undertaking = () => ({ isOver: false });

describe('work that is done for something', () => {
  it('knows what for, and so does what it calls and begins, the innermost first', async () => {
    const [outer, inner, other] = [undertaking(), undertaking(), undertaking()];
    const seen = await runFor(outer, () =>
      runFor(inner, async () => {
        await pause(1);
        expect([isWithin(outer), isWithin(inner), isWithin(other)]).toEqual([true, true, false]);
        return [...undertakingsAround()];
      }),
    );
    expect(seen).toEqual([inner, outer]);
    expect([...undertakingsAround()]).toEqual([]);
  });

  it('belongs to nothing any more when that is over', async () => {
    const one = undertaking();
    const goesOn = runFor(one, async () => {
      await pause(1);
      return isWithin(one);
    });
    one.isOver = true;
    expect(await goesOn).toBe(false);
  });

  it('has no part in what is over, however often it begins itself anew', async () => {
    const round = async (left: number): Promise<number> => {
      const own = undertaking();
      return await runFor(own, async () => {
        own.isOver = true;
        await pause(0);
        return left === 0 ? [...undertakingsAround()].length : await round(left - 1);
      });
    };
    expect(await round(50)).toBe(0);
    const live = undertaking();
    const done = undertaking();
    const around = runFor(live, () =>
      runFor(done, () => {
        done.isOver = true;
        return runFor(undertaking(), () => [...undertakingsAround()]);
      }),
    );
    expect(around).toHaveLength(2);
    expect(around[1]).toBe(live);
  });
});
