import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BETWEEN, dealLongest, LONGEST } from './longest-files.js';

const ROOT = join(import.meta.dirname, '../../..');

describe('the longest files', () => {
  it('are there, each once', () => {
    expect(LONGEST.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
    expect(new Set(LONGEST).size).toBe(LONGEST.length);
  });

  it('begin one after the other, with some of the others in between', () => {
    const others = Array.from({ length: BETWEEN + 2 }, (_, index) => `other ${index}`);
    const [first, second] = LONGEST as [string, string, ...string[]];
    const dealt = dealLongest([...others, second, first], (file) => file);
    expect(dealt).toEqual([first, ...others.slice(0, BETWEEN), second, ...others.slice(BETWEEN)]);
  });

  it('leave no file out, however few there are', () => {
    expect(dealLongest(['a', ...LONGEST], (file) => file)).toHaveLength(1 + LONGEST.length);
    expect(dealLongest(['a', 'b'], (file) => file)).toEqual(['a', 'b']);
  });
});
