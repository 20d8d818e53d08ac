import { expect, it } from 'vitest';
import { ReadSlots } from '../../../../src/overview/reading/reader-resources.js';

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
