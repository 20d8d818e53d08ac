import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type HistogramValue,
  keyOf,
  Measurements,
  type MetricsSnapshot,
  merged,
  type Series,
  withLabel,
} from '../../../../src/metrics/model/measurements.js';
import { FAMILIES, type FamilyName } from '../../../../src/metrics/model/metric-families.js';

const A = { election: '/a', id: 'one' };
const snapshot = (name: FamilyName, ...series: Series[]): MetricsSnapshot => new Map([[name, series]]);
const valuesOf = (of: MetricsSnapshot, name: FamilyName) => (of.get(name) ?? []).map(({ value }) => value);

const labels = fc.dictionary(fc.constantFrom('election', 'id', 'code'), fc.string(), { maxKeys: 3 });

describe('series that are merged', () => {
  it('with the same labels are the later one of a gauge, and the sum of a counter', () => {
    const twice = (name: FamilyName) =>
      valuesOf(
        merged([snapshot(name, { labels: A, value: 5 }), snapshot(name, { labels: A, value: 3 })]),
        name,
      );
    expect(twice('conclave_term')).toEqual([3]);
    expect(twice('conclave_reconnects_total')).toEqual([8]);
    expect(twice('conclave_workers')).toEqual([8]);
  });

  it('say that an election is led if one of several candidates of it leads, by the name of another library', () => {
    const name = 'leader_election_master_status';
    const of = (value: number) => snapshot(name, { labels: { name: '/a' }, value });
    expect(valuesOf(merged([of(1), of(0)]), name)).toEqual([1]);
    expect(valuesOf(merged([of(0), of(0)]), name)).toEqual([0]);
  });

  it('have each combination of labels once, and lose no count, whatever there is', () => {
    const series = fc.record({ labels, value: fc.nat() });
    fc.assert(
      fc.property(fc.array(fc.array(series)), (all) => {
        const name = 'conclave_errors_total';
        const result = merged(all.map((each) => snapshot(name, ...each)));
        const keys = (result.get(name) ?? []).map((each) => keyOf(each.labels));
        expect(keys.sort()).toEqual([...new Set(all.flat().map((each) => keyOf(each.labels)))].sort());
        const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
        expect(sum(valuesOf(result, name) as number[])).toBe(sum(all.flat().map(({ value }) => value)));
      }),
    );
  });

  it('of histograms have the values of both', () => {
    const name = 'conclave_heartbeat_latency_seconds';
    const values = fc.array(fc.double({ min: 0, max: 5, noNaN: true }));
    const of = (seconds: readonly number[]) => {
      const measurements = new Measurements(A, () => undefined);
      for (const each of seconds) measurements.observe(name, each);
      return measurements.snapshot();
    };
    fc.assert(
      fc.property(values, values, (one, other) => {
        const apart = merged([of(one), of(other)]).get(name)?.[0]?.value as HistogramValue | undefined;
        const together = of([...one, ...other]).get(name)?.[0]?.value as HistogramValue | undefined;
        expect(apart?.counts).toEqual(together?.counts);
        expect(apart?.sum ?? 0).toBeCloseTo(together?.sum ?? 0, 6);
        const count = (apart?.counts ?? []).reduce((a, b) => a + b, 0);
        expect(count).toBe(one.length + other.length);
      }),
    );
  });

  it('get one label more without a change of the others', () => {
    const labelled = withLabel(snapshot('conclave_leader', { labels: A, value: 1 }), 'worker', '3');
    expect(labelled.get('conclave_leader')).toEqual([{ labels: { ...A, worker: '3' }, value: 1 }]);
  });
});

it('the name of labels is the same in whatever order they are, and another one for others', () => {
  expect(keyOf({ a: '1', b: '2' })).toBe(keyOf({ b: '2', a: '1' }));
  fc.assert(
    fc.property(labels, labels, (one, other) => {
      const same = Object.keys({ ...one, ...other }).every((label) => one[label] === other[label]);
      expect(keyOf(one) === keyOf(other)).toBe(same);
    }),
  );
});

describe('a histogram', () => {
  it('counts each value in the first bucket that has room for it, the bound included', () => {
    const seen: number[] = [];
    const measurements = new Measurements(A, (_, __, value) => seen.push(value));
    const { buckets = [] } = FAMILIES.conclave_hook_duration_seconds;
    for (const bound of buckets) measurements.observe('conclave_hook_duration_seconds', bound);
    measurements.observe('conclave_hook_duration_seconds', 1e6);
    const value = measurements.snapshot().get('conclave_hook_duration_seconds')?.[0]?.value as HistogramValue;
    expect(value.counts).toEqual([...buckets.map(() => 1), 1]);
    expect(seen).toEqual([...buckets, 1e6]);
  });

  it('is not changed any more once it was asked for', () => {
    const measurements = new Measurements(A, () => undefined);
    measurements.observe('conclave_hook_duration_seconds', 1);
    measurements.count('conclave_errors_total', { code: 'X' });
    const before = JSON.stringify([...measurements.snapshot()]);
    const asked = measurements.snapshot();
    measurements.observe('conclave_hook_duration_seconds', 1);
    measurements.count('conclave_errors_total', { code: 'X' });
    expect(JSON.stringify([...asked])).toBe(before);
  });
});
