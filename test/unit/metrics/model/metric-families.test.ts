import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FAMILIES, FAMILY_NAMES, isFamilyName } from '../../../../src/metrics/model/metric-families.js';

const FOLDER = join(import.meta.dirname, '../../../../docs/operations');
const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8');

/** The names in a text that are, or look like, names of metrics. */
function namesIn(text: string): string[] {
  const found = text.match(/\b(?:conclave_|leader_election_)\w+/g) ?? [];
  return [...new Set(found)].sort();
}

/** The name of the family of a series. A histogram has several series, whose names have endings. */
function familyOf(series: string): string {
  const base = series.replace(/_(?:bucket|sum|count)$/, '');
  return isFamilyName(base) && FAMILIES[base].type === 'histogram' ? base : series;
}

/** The types and the labels in the rows of a page, by the name in the row. */
function rowsOf(page: string): Map<string, { type: string; labels: string[] }> {
  const rows = page.matchAll(/^\| `(\w+)` \| (gauge|counter|histogram) \|([^|]*)\|/gm);
  return new Map(
    [...rows].map(([, name, type, labels]) => [
      name as string,
      {
        type: type as string,
        labels: [...(labels as string).matchAll(/`(\w+)`/g)].map(([, of]) => of as string),
      },
    ]),
  );
}

it('the table of metrics has names, units and labels as Prometheus wants them', () => {
  for (const name of FAMILY_NAMES) {
    const { type, labels, help, buckets } = FAMILIES[name];
    expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
    expect(name.endsWith('_total'), name).toBe(type === 'counter');
    if (type === 'histogram') expect(name).toMatch(/_seconds$/);
    for (const label of labels) expect(label).toMatch(/^(?!__|le$|worker$)[a-z]+$/);
    expect(help, name).toMatch(/\.$/);
    expect([...(buckets ?? [])].sort((a, b) => a - b)).toEqual(buckets ?? []);
  }
});

it('the page about metrics documents all of them, and no other, with their types and labels', () => {
  const rows = rowsOf(read('metrics.md'));
  expect([...rows.keys()].sort()).toEqual([...FAMILY_NAMES].sort());
  for (const name of FAMILY_NAMES) {
    const { type, labels } = FAMILIES[name];
    expect({ name, ...rows.get(name) }).toEqual({ name, type, labels: [...labels] });
  }
});

describe.each(['alerts.yml', 'grafana-dashboard.json'])('%s', (file) => {
  it('uses names that there are', () => {
    const names = namesIn(read(file));
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !isFamilyName(familyOf(name)))).toEqual([]);
  });

  it('compares labels that the metrics have', () => {
    for (const [, name, matchers] of read(file)
      .replaceAll('\\"', '"')
      .matchAll(/\b(conclave_\w+)\{([^}]*)\}/g)) {
      const family = familyOf(name as string);
      const used = [...(matchers as string).matchAll(/(\w+)(?==~|!~|!=|=)/g)].map(
        ([, label]) => label as string,
      );
      if (!isFamilyName(family)) throw new Error(family);
      expect({ name, unknown: used.filter((label) => !FAMILIES[family].labels.includes(label)) }).toEqual({
        name,
        unknown: [],
      });
    }
  });
});

const promtool = spawnSync('promtool', ['--version']).error === undefined;

describe('the alert rules', () => {
  it('has a rule about each metric that the page says to be one to alert for', () => {
    const names = namesIn(read('alerts.yml')).map(familyOf);
    for (const name of [
      'conclave_leader',
      'conclave_wedged',
      'conclave_hook_failures_total',
      'conclave_session_state',
    ])
      expect(names).toContain(name);
  });

  it.skipIf(!promtool)('are right by promtool (skipped where that is not installed)', () => {
    const output = execFileSync('promtool', ['check', 'rules', join(FOLDER, 'alerts.yml')], {
      encoding: 'utf8',
    });
    expect(output).toContain('SUCCESS');
  });
});

describe('the dashboard', () => {
  it('is JSON, with panels that have numbers of their own and ask for something', () => {
    const { panels } = JSON.parse(read('grafana-dashboard.json')) as {
      panels: { id: number; type: string; targets?: { expr: string }[] }[];
    };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const asking = panels.filter(({ type }) => type !== 'row');
    expect(asking.length).toBeGreaterThan(15);
    for (const { targets } of asking) expect(targets?.every(({ expr }) => expr.length > 0)).toBe(true);
  });

  it('shows each metric but the name of another library, those that say what is the case of all', () => {
    const shown = new Set(namesIn(read('grafana-dashboard.json')).map(familyOf));
    const missing = FAMILY_NAMES.filter((name) => !shown.has(name));
    expect(missing).toEqual(['leader_election_master_status']);
  });
});

it('alerts.yml has an alert for elections and groups that are not scraped at all', () => {
  const [, expression = ''] =
    /alert: ConclaveNotScraped\n\s+expr: >-\n((?:.*\n)*?)\s+for:/.exec(read('alerts.yml')) ?? [];
  expect(expression).toContain('(absent(conclave_leader) and absent(conclave_shards))');
  expect(expression).toContain('unless max by (election) (conclave_leader)');
  expect(expression).toContain('unless max by (group) (conclave_shards)');
});
