import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { isConfirmed } from '../../../../src/cli/process/question.js';

async function answered(text: string) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  input.end(text);
  const yes = await isConfirmed('Remove it?', input, output);
  expect(output.read()?.toString()).toBe('Remove it? [y/N] ');
  return yes;
}

describe('a question', () => {
  it.each(['y\n', 'Y\n', 'yes\n', ' YES \n', 'y', 'y\nn\n'])('is answered with yes by %j', async (text) => {
    expect(await answered(text)).toBe(true);
  });

  it.each(['n\n', '\n', '', 'yes please\n', 'yy\n', 'n\ny\n', '\u0004'])(
    'is answered with no by %j',
    async (text) => {
      expect(await answered(text)).toBe(false);
    },
  );
});
