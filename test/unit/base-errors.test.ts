import { describe, expect, it } from 'vitest';
import { describe as inWords } from '../../src/base-errors.js';

describe('an error in words', () => {
  it.each([
    [
      'error:0A000418:SSL routines::tlsv1 alert unknown ca\n',
      'error:0A000418:SSL routines::tlsv1 alert unknown ca',
    ],
    ['one\n  two\r\nthree\u2028four', 'one two three four'],
  ])(
    'is one line of a log, also if its message has several, as those of OpenSSL: %j',
    (message, expected) => {
      expect(inWords(new Error(message))).toBe(expected);
      expect(inWords(message)).toBe(expected);
    },
  );
});
