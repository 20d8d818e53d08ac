import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

const MOST_WORDS = 1600;

describe('the README', () => {
  it('is short', () => {
    expect(readme.split(/\s+/).length).toBeLessThan(MOST_WORDS);
  });

  it('has the two commands of the repository', () => {
    expect(readme).toMatch(/^ {4}npm run demo /m);
    expect(readme).toMatch(/^ {4}npm test /m);
  });

  it('compares by the figures that the benchmark has published', () => {
    const p50 = publishedFailovers();
    const [, comparison = ''] = /^## How it compares$(.*?)^## /ms.exec(readme) ?? [];
    const row = (who: string) =>
      comparison.split('\n').find((line) => line.startsWith('|') && line.includes(who)) ?? '';
    expect(row('**Conclave**')).toContain(
      `${p50('Conclave')} s; with a lease of 0.5 s, ${p50('Conclave, lease 0.5 s')} s`,
    );
    expect(row('LeaderLatch')).toContain(`| ${p50('Curator LeaderLatch')} s |`);
    expect(row('kazoo')).toContain(`| ${p50('kazoo Election')} s |`);
    expect(row('etcd3')).toContain(`${p50('etcd election')} s;`);
  });

  it('says of each error, event and promise where the rest is', () => {
    for (const page of ['states-events-errors', 'api']) expect(readme).toContain(`docs/reference/${page}.md`);
    expect(readme).toContain('docs/safety.md');
  });
});

/** The published p50 of failovers after `kill -9` with sessions of 6 s, rounded to seconds as the README has it. */
function publishedFailovers(): (who: string) => string {
  const text = readFileSync(join(root, 'bench/results/results.json'), 'utf8');
  const runs = JSON.parse(text) as { findings: { id: string; columns: string[]; table: unknown[][] }[] }[];
  const finding = runs.flatMap(({ findings }) => findings).find(({ id }) => id === 'host-failover');
  const at = finding?.columns.indexOf('p50 ms') ?? -1;
  return (who) => {
    const cells = finding?.table.find((row) => row[0] === 'kill -9' && row[1] === 6 && row[2] === who);
    return (Number(cells?.[at]) / 1000).toFixed(1);
  };
}
