import { expect, it } from 'vitest';
import { runChecks } from './checks.mjs';

it('the checks of the package all run and are reported, and failures are counted', async () => {
  const said: string[] = [];
  const failed = await runChecks(
    [
      { name: 'one', check: () => Promise.resolve() },
      { name: 'two', check: () => Promise.reject(new Error('this\nand that')) },
      { name: 'three', check: () => Promise.resolve('') },
    ],
    (line) => said.push(line.replace(/\d+ ms/, 'n ms')),
  );
  expect(failed).toBe(1);
  expect(said.slice(0, 3).sort()).toEqual(['✓ one (n ms)', '✓ three (n ms)', '✗ two (n ms)']);
  expect(said.slice(3)).toEqual(['\n✗ two\n    this\n    and that', '2 of 3 checks of the package passed']);
});
