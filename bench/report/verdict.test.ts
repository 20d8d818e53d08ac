import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { INTRODUCTION, page } from './markdown.mjs';
import { judged } from './promises.mjs';
import { verdict } from './verdict.mjs';

const root = join(import.meta.dirname, '../..');
const results = join(root, 'bench/results');
const published = () => JSON.parse(readFileSync(join(results, 'results.json'), 'utf8'));
const document = () => readFileSync(join(root, 'docs/benchmarks.md'), 'utf8');
const COLUMNS = ['servers', 'contenders', 'one handover after the other', 'who', 'p50 µs', 'notifications'];
const handovers = (ours: number, theirs: number, notifications = 2) => ({
  ...{ id: 'election-handover', title: '', columns: COLUMNS, notes: [], data: {} },
  table: [1, '1, 1 ms away'].flatMap((servers, at) => [
    [servers, 15, 'after a while', 'Conclave election', ours + at, notifications],
    [servers, 15, 'after a while', 'Curator LeaderLatch', theirs, 1],
  ]),
});
const beside = (...finding: Parameters<typeof handovers>) =>
  verdict([{ ...published()[0], findings: [handovers(...finding)] }]);

describe('the verdict', () => {
  it('is that of what is published, and stands at the top of the page', () => {
    const text = verdict(published());
    expect(document()).toContain(`<!-- verdict: begin -->\n\n${text}\n<!-- verdict: end -->`);
    expect(document().indexOf('## In short')).toBeLessThan(document().indexOf('## What is measured'));
  });

  it('says of each promise whether it is kept', () => {
    const text = beside(210, 100);
    expect(text).toContain('and at most the leader itself | 2 notified | yes |');
    expect(text).toContain('twice as long as with Curator | 2.1 times | **no** |');
    expect(text).toContain('Candidates that wait write nothing | – | not measured |');
  });

  it('says how much slower a planned handover is than that of LeaderLatch, also between hosts', () => {
    expect(beside(149, 100)).toContain(
      "takes 1.5 times as long as with Curator's LeaderLatch, and 1.5 times between hosts that are 1 ms away:",
    );
  });

  it.each([
    [89, 'faster'],
    [109, 'as fast as LeaderLatch'],
    [111, 'slower than LeaderLatch'],
  ])(
    'says of %i beside 100 that Conclave is %s, and leaves out lines of which a figure is missing',
    (ours, said) => {
      const text = beside(ours, 100);
      expect(text).toContain(`15 candidates | ${ours} µs | LeaderLatch 100 µs | ${said} |`);
      expect(text).not.toContain('1000 candidates');
    },
  );
});

describe('the promises', () => {
  it('are judged by the worst of several figures', () => {
    const table = ['kill -9', 'SIGSTOP', 'its link is silent, both ways'].map((failure, at) => [
      ...[failure, 6, 'Conclave', 2000, 2600 + 30 * at],
    ]);
    const columns = ['what befalls the leader', 'session timeout s', 'who', 'p50 ms', 'p99 ms'];
    const [first, second] = judged(
      [{ id: 'host-failover', columns, table }],
      (row) => row === 'host-failover',
    );
    expect(first).toMatchObject({ measured: '2.7 s (p99)', kept: '**no**' });
    expect(second).toMatchObject({ measured: '–', kept: 'not measured' });
  });

  it('are all of rows that there are', () => {
    const rows = readdirSync(join(root, 'bench/rows'));
    expect(judged([], (row) => !rows.includes(`${row}.mjs`))).toEqual([]);
  });
});

describe('the page of all results', () => {
  it('is that of the published figures', () => {
    const plots = readdirSync(results).filter((name) => name.endsWith('.svg'));
    expect(readFileSync(join(results, 'results.md'), 'utf8')).toBe(page(published(), plots, INTRODUCTION));
  });
});
