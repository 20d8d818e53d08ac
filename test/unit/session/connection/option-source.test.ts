import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../../src/errors.js';
import { deferred } from '../../../../src/platform/async/promises.js';
import { OptionSource } from '../../../../src/session/connection/option-source.js';

/** Accepts even numbers. */
function checkEven(value: unknown, name: string): number {
  if (typeof value === 'number' && value % 2 === 0) return value;
  throw new InvalidOptionError(name, value, 'an even number');
}

const sourceOf = (given: unknown) => new OptionSource(given, checkEven, 'even');

describe('an option that may be a function', () => {
  it('has a value from the beginning, if it is one', async () => {
    const source = sourceOf(4);
    expect(source).toMatchObject({ name: 'even', isFunction: false, newest: 4, value: 4 });
    expect(await source.ask()).toEqual({ name: 'given' });
  });

  it('is refused at once, if it is a wrong value', () => {
    expect(() => sourceOf(3)).toThrow('even is 3: expected an even number');
  });

  it('has the value of the newest answer, which may come later', async () => {
    const answers = [2, Promise.resolve(4)];
    const source = sourceOf(() => answers.shift());
    expect(source).toMatchObject({ name: 'session.even()', isFunction: true, newest: undefined });
    expect(await source.ask()).toEqual({ name: 'given' });
    expect(source.value).toBe(2);
    await source.ask();
    expect(source.value).toBe(4);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('sealed');
      },
    ],
    ['rejects', () => Promise.reject(new Error('sealed'))],
  ])('keeps its former value when it %s', async (_, fail) => {
    const answers = [() => 2, fail];
    const source = sourceOf(() => answers.shift()?.());
    await source.ask();
    expect(await source.ask()).toEqual({ name: 'failed', error: new Error('sealed') });
    expect(source.value).toBe(2);
  });

  it.each([3, undefined, null, () => 2])(
    'keeps its former value when it gives %s, and says what would be right',
    async (wrong) => {
      const answers: unknown[] = [2, wrong];
      const source = sourceOf(() => answers.shift());
      await source.ask();
      const answer = await source.ask();
      expect(answer).toMatchObject({
        name: 'wrong',
        error: { option: 'session.even()', expected: 'an even number' },
      });
      expect(source.value).toBe(2);
    },
  );

  it('has failed, and is not wrong, when the function itself throws an InvalidOptionError', async () => {
    const error = new InvalidOptionError('other', 1, 'something else');
    expect(await sourceOf(() => Promise.reject(error)).ask()).toEqual({ name: 'failed', error });
  });

  it('is called once while it has not answered, also by another session of its owner', async () => {
    let calls = 0;
    const answer = deferred<number>();
    const ask = () => {
      calls++;
      return answer.promise;
    };
    const [one, other] = [sourceOf(ask), sourceOf(ask)];
    const asked = [one.ask(), one.ask(), other.ask()];
    answer.resolve(6);
    await Promise.all(asked);
    expect([calls, one.value, other.value]).toEqual([1, 6, 6]);
    await other.ask();
    expect(calls).toBe(2);
  });

  it('is not called on the stack of the one that asks, but in its async context', async () => {
    const storage = new AsyncLocalStorage<string>();
    let seen: string | undefined;
    const source = sourceOf(() => {
      seen = storage.getStore();
      return 2;
    });
    const asked = storage.run('session', () => source.ask());
    expect(seen).toBeUndefined();
    await asked;
    expect(seen).toBe('session');
  });
});
