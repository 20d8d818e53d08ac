import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execaNode } from 'execa';
import { describe, expect, inject, it } from 'vitest';
import { scenarios } from './scenarios/index.mjs';

const ROWS = 23;
const ENDS_WITHIN_MS = 25_000;

/** How one run of a scenario ended: it held, or this was its last output, on both streams. */
async function outcome(id: string, subject: 'conclave' | 'bare'): Promise<string> {
  const { all, exitCode, timedOut } = await execaNode(
    join(import.meta.dirname, 'run.mjs'),
    [id, subject, inject('connectString')],
    { timeout: ENDS_WITHIN_MS, reject: false, all: true },
  );
  if (exitCode === 0 && all.endsWith('held')) return 'held';
  return timedOut ? `${all}\nbroken: did not end` : all;
}

describe('what node-zookeeper-client does wrong, and Conclave has to do right', () => {
  for (const { id, name, broken } of scenarios) {
    it.concurrent(`${id} ${name}`, async () => {
      expect(await outcome(id, 'conclave')).toBe('held');
      // A demand that the bare client meets, too, would show nothing.
      expect(await outcome(id, 'bare')).toMatch(broken);
    });
  }
});

describe('the scenarios', () => {
  it('cover every row', () => {
    const rows = new Set(scenarios.map(({ id }) => Number.parseInt(id, 10)));
    expect([...rows]).toEqual(Array.from({ length: ROWS }, (_, index) => index + 1));
  });

  it('have an id and a name of their own', () => {
    expect(new Set(scenarios.map(({ id }) => id)).size).toBe(scenarios.length);
    expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length);
  });

  it('are those of the table in the README', () => {
    const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
    const table = [...readme.matchAll(/^\| (\d+[a-z]?) \| ([^|]+) \|/gm)].map(
      ([, id, name]) => `${id} ${name}`,
    );
    expect(table).toEqual(scenarios.map(({ id, name }) => `${id} ${name}`));
  });
});
