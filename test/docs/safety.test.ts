import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/safety.md'), 'utf8');
const [, section = ''] = /^## Promises$(.*?)^## /ms.exec(page) ?? [];
const promises = section.split(/^### /m).slice(1);

it('each promise of the safety page names the tests that would break it, and these tests exist', () => {
  expect(promises.length).toBeGreaterThan(5);
  const missing: string[] = [];
  for (const promise of promises) {
    const tests = [...promise.matchAll(/^- `(test\/[^`]+)`: “(.+)”$/gm)];
    expect(tests.length, promise.split('\n')[0]).toBeGreaterThan(0);
    for (const [, file = '', name = ''] of tests) {
      const path = join(root, file);
      if (!existsSync(path) || !readFileSync(path, 'utf8').includes(name)) missing.push(`${file}: ${name}`);
    }
  }
  expect(missing).toEqual([]);
});

it('no line of the safety page that looks like such a test is overlooked for its form', () => {
  const lines = page.split('\n').filter((line) => line.startsWith('- `test/'));
  expect(lines.filter((line) => !/^- `test\/[^`]+`: “.+”$/.test(line))).toEqual([]);
});
