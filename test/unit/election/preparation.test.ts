import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AdvertisedData } from '../../../src/election/advertised-data.js';
import { preparedOf } from '../../../src/election/candidates/candidate.js';
import { Preparation, type PreparationHost } from '../../../src/election/preparation.js';
import { deferred, ignore } from '../../../src/platform/async/promises.js';
import type { Session } from '../../../src/session/session.js';
import { TestClock } from '../../../src/testing/index.js';
import { settle } from '../../support/waiting.mjs';

/** One place in the queue, in which each call of `prepare` is recorded and settled by the test. */
function setUp(prepare?: (place: { readonly signal: AbortSignal }) => unknown) {
  const clock = new TestClock();
  const calls: { readonly signal: AbortSignal; settle(value: unknown): void; fail(error: unknown): void }[] =
    [];
  const record = ({ signal }: { readonly signal: AbortSignal }) => {
    const result = deferred<unknown>();
    calls.push({ signal, settle: result.resolve, fail: result.reject });
    return result.promise;
  };
  const errors: Error[] = [];
  const advertisement = new AdvertisedData('me', undefined, true);
  let published = 0;
  const place = {
    publish: async () => {
      published++;
    },
  };
  const session = { clock, ended: new AbortController().signal } as unknown as Session;
  const host: PreparationHost = { session, advertisement, report: (error) => void errors.push(error) };
  const preparation = new Preparation(prepare ?? record, place, host);
  const term = new AbortController();
  const said = () => preparedOf(advertisement.bytes());
  return { clock, calls, errors, place, preparation, term, said, published: () => published };
}

/** The call of `prepare` with that number, once it was made. */
async function call<T>(calls: readonly T[], number: number): Promise<T> {
  await settle();
  expect(calls).toHaveLength(number);
  return calls[number - 1] as T;
}

describe('a candidate that prepares', () => {
  it('begins once in its place, not on the stack of its caller, and says on its node when it is prepared', async () => {
    const { preparation, calls, said, published, term } = setUp();
    preparation.begin();
    preparation.begin();
    expect(calls).toHaveLength(0);
    const { settle: finish } = await call(calls, 1);
    expect([said(), published()]).toEqual([false, 0]);
    finish('warm');
    await settle();
    expect([said(), published()]).toEqual([true, 1]);
    expect(await preparation.warm(term.signal)).toBe('warm');
    preparation.begin();
    await call(calls, 1);
  });

  it('that is elected meanwhile waits for the call that is under way', async () => {
    const { preparation, calls, term } = setUp();
    preparation.begin();
    const warm = preparation.warm(term.signal);
    (await call(calls, 1)).settle('warm');
    expect(await warm).toBe('warm');
    await call(calls, 1);
  });

  it('that is elected at once prepares in the term', async () => {
    const { preparation, calls, term, said } = setUp();
    const warm = preparation.warm(term.signal);
    (await call(calls, 1)).settle(undefined);
    expect(await warm).toBeUndefined();
    expect(said()).toBe(true);
  });

  it('tries again after 1, 2, 4 … 60 s, with an error each time', async () => {
    const { clock, preparation, errors } = setUp(() => {
      throw new Error('no memory');
    });
    preparation.begin();
    await settle();
    for (const [failures, pauseMs] of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000].entries()) {
      expect(errors).toHaveLength(failures + 1);
      await clock.advance(pauseMs - 1);
      expect(errors).toHaveLength(failures + 1);
      await clock.advance(1);
      await settle();
    }
    expect(errors[1]).toMatchObject({
      code: 'PREPARE_FAILED',
      attempt: 2,
      retryable: true,
      cause: { message: 'no memory' },
      message: 'prepare failed at attempt 2: no memory',
    });
    preparation.end();
    expect(clock.timerCount).toBe(0);
  });

  it('that is elected in a pause, or during a call that fails, calls once more, and gives up after that', async () => {
    for (const electedDuringTheCall of [true, false]) {
      const { clock, preparation, calls, errors, term } = setUp();
      preparation.begin();
      const first = await call(calls, 1);
      let warm: Promise<unknown> | undefined;
      const elect = () => {
        warm = preparation.warm(term.signal);
        warm.catch(ignore); // Looked at below.
      };
      if (electedDuringTheCall) elect();
      first.fail(new Error('one'));
      await settle();
      if (!electedDuringTheCall) elect();
      (await call(calls, 2)).fail(new Error('two'));
      await expect(warm).rejects.toThrow('two');
      expect(errors).toMatchObject([{ code: 'PREPARE_FAILED', cause: { message: 'one' } }]);
      await clock.advance(100_000);
      await call(calls, 2);
      expect(clock.timerCount).toBe(0);
    }
  });

  it('that fails in the term only, fails as its leader’s work does', async () => {
    const { preparation, errors, term } = setUp(() => Promise.reject(new Error('broken')));
    await expect(preparation.warm(term.signal)).rejects.toThrow('broken');
    expect(errors).toEqual([]);
  });

  it.each(['before its term', 'in its term'])(
    'that hangs, begun %s, keeps the work of a term waiting for a minute at most, and says for how long (it did for ever)',
    async (since) => {
      const { clock, preparation, calls, term, errors } = setUp();
      if (since === 'before its term') preparation.begin();
      await clock.advance(200_000); // Before the term, nobody waits for it.
      expect(preparation.awaitedMs).toBeUndefined();
      const warm = preparation.warm(term.signal);
      warm.catch(ignore); // Looked at below.
      await call(calls, 1);
      await clock.advance(59_999);
      expect(preparation.awaitedMs).toBe(59_999);
      await clock.advance(1);
      await expect(warm).rejects.toThrow('prepare has not settled within 60000 ms in the term');
      expect([preparation.awaitedMs, clock.timerCount, errors]).toEqual([undefined, 0, []]);
    },
  );

  it('no longer keeps its term waiting when that has ended, and is told so when its place ends', async () => {
    for (const beganBefore of [true, false]) {
      const { preparation, calls, term, said } = setUp();
      if (beganBefore) preparation.begin();
      const warm = preparation.warm(term.signal);
      const { signal, settle: finish } = await call(calls, 1);
      term.abort(new Error('over'));
      await expect(warm).rejects.toThrow('over');
      expect(signal.aborted).toBe(false);
      preparation.end();
      expect(signal.reason).toMatchObject({ name: 'AbortError' });
      finish('late');
      await settle();
      expect(said()).toBe(false);
    }
  });

  it('isn’t called in a term that has ended', async () => {
    const { preparation, calls, term } = setUp();
    term.abort(new Error('over'));
    await expect(preparation.warm(term.signal)).rejects.toThrow('over');
    await call(calls, 0);
  });

  it('reports nothing, and says nothing more, once its place has ended', async () => {
    const { clock, preparation, calls, errors, said, published } = setUp();
    preparation.begin();
    const { fail } = await call(calls, 1);
    preparation.end();
    fail(new Error('aborted'));
    await settle();
    expect([errors, said(), published(), clock.timerCount]).toEqual([[], false, 0, 0]);
  });

  it('says in its next place that it is not prepared', async () => {
    const { preparation, said } = setUp(() => 'warm');
    preparation.begin();
    await settle();
    expect(said()).toBe(true);
    preparation.end();
    expect(said()).toBe(false);
  });

  it('reports that it can’t say so, unless its place or session has ended', async () => {
    for (const ended of [false, true]) {
      const { preparation, place, errors } = setUp(() => 'warm');
      const written = deferred();
      place.publish = () => written.promise;
      preparation.begin();
      await settle();
      if (ended) preparation.end();
      written.reject(new Error('refused'));
      await settle();
      expect(errors.map(({ message }) => message)).toEqual(ended ? [] : ['refused']);
    }
  });

  it('leaves no timer and no call behind, in any order of events', async () => {
    const step = fc.constantFrom('begin', 'elect', 'settle', 'fail', 'a second', 'term ends');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { clock, preparation, calls, term } = setUp();
        let open = 0;
        let elected = false;
        for (const each of steps) {
          const newest = calls.at(-1);
          if (each === 'begin') preparation.begin();
          else if (each === 'settle') newest?.settle('warm');
          else if (each === 'fail') newest?.fail(new Error('failed'));
          else if (each === 'a second') await clock.advance(1000);
          else if (each === 'term ends') term.abort(new Error('over'));
          else if (!elected) {
            elected = true;
            open++;
            const done = () => void open--;
            preparation.warm(term.signal).then(done, done);
          }
          await settle();
        }
        term.abort(new Error('over'));
        preparation.end();
        await settle();
        const made = calls.length;
        await clock.advance(200_000);
        expect([open, clock.timerCount, calls.length]).toEqual([0, 0, made]);
        expect(calls.every(({ signal }) => signal.aborted)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});
