import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { build } from 'rolldown';
import { describe, expect, it } from 'vitest';
import {
  isWithin,
  runWithin,
  WorkContext,
  workContexts,
} from '../../../../src/platform/async/work-context.js';

const newContext = () => new WorkContext();

/** Nests work contexts in each other, with this many turns of the event loop before and after each inner context. */
async function nest(
  [turns, ...inside]: readonly number[],
  around: readonly WorkContext[] = [],
): Promise<void> {
  if (turns === undefined) return;
  const own = newContext();
  const all = [own, ...around];
  await runWithin(own, async () => {
    await pass(turns);
    expectAround(all);
    await nest(inside, all);
    await pass(turns);
    expectAround(all);
  });
  own.finish();
  expectAround(around);
}

async function pass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
}

function expectAround(expected: readonly WorkContext[]): void {
  const seen = workContexts();
  expect(seen.map((each) => expected.indexOf(each))).toEqual(expected.map((_, at) => at));
}

describe('work that is done for something', () => {
  it('knows what for, and so does what it calls and begins, the innermost first', async () => {
    const [outer, inner, other] = [newContext(), newContext(), newContext()];
    const seen = await runWithin(outer, () =>
      runWithin(inner, async () => {
        await pause(1);
        expect([isWithin(outer), isWithin(inner), isWithin(other)]).toEqual([true, true, false]);
        return [...workContexts()];
      }),
    );
    expect(seen).toEqual([inner, outer]);
    expect([...workContexts()]).toEqual([]);
  });

  it('belongs to nothing any more when that is over', async () => {
    const one = newContext();
    const goesOn = runWithin(one, async () => {
      await pause(1);
      return isWithin(one);
    });
    one.finish();
    expect(await goesOn).toBe(false);
  });

  it('has no part in what is over, however often it begins itself anew', async () => {
    const round = async (left: number): Promise<number> => {
      const own = newContext();
      return await runWithin(own, async () => {
        own.finish();
        await pause(0);
        return left === 0 ? [...workContexts()].length : await round(left - 1);
      });
    };
    expect(await round(50)).toBe(0);
    const live = newContext();
    const done = newContext();
    const around = runWithin(live, () =>
      runWithin(done, () => {
        done.finish();
        return runWithin(newContext(), () => [...workContexts()]);
      }),
    );
    expect(around).toHaveLength(2);
    expect(around[1]).toBe(live);
    for (const each of [live, ...around]) each.finish();
  });

  it('knows what for whatever else begins and ends meanwhile, also after a time in which nothing was under way', async () => {
    const nests = fc.array(fc.array(fc.nat(3), { maxLength: 4 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(nests, nests, async (some, others) => {
        await Promise.all(some.map((turns) => nest(turns)));
        await Promise.all(others.map((turns) => nest(turns)));
      }),
    );
  });

  it('costs the promises of a process nothing when nothing is under way', async () => {
    const input = fileURLToPath(new URL('../../../../src/platform/async/work-context.ts', import.meta.url));
    const { output } = await build({ input, write: false, platform: 'node' });
    const script = `${output[0].code};
      // Node's async hooks leave their marks on each promise.
      const isLookedAt = () => Object.getOwnPropertySymbols(Promise.resolve()).length > 0;
      const [one, other] = [new WorkContext(), new WorkContext()];
      const seen = [isLookedAt()];
      runWithin(one, () => undefined);
      runWithin(other, () => undefined);
      one.finish();
      seen.push(isLookedAt());
      other.finish();
      await null; // Node takes them off a microtask later.
      seen.push(isLookedAt());
      runWithin(other, () => undefined); // It is over.
      seen.push(isLookedAt());
      console.log(JSON.stringify(seen));
    `;
    const seen = JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }),
    );
    // From Node 24 on, the async hooks don't look at promises anyway.
    const whileUnderWay = Number(process.versions.node.split('.')[0]) < 24;
    expect(seen).toEqual([false, whileUnderWay, false, false]);
  });
});
