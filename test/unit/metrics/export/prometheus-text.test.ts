import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CONTENT_TYPE,
  escapeHelp,
  escapeValue,
  prometheusText,
} from '../../../../src/metrics/export/prometheus-text.js';
import { Measurements } from '../../../../src/metrics/model/measurements.js';

describe("Prometheus's text", () => {
  it('has help and type before the series, each on a line', () => {
    const labels = { election: '/a', id: 'one' };
    expect(prometheusText(new Map([['conclave_leader', [{ labels, value: 1 }]]]))).toBe(
      [
        '# HELP conclave_leader Whether this candidate leads at this moment, by its lease: 1 or 0.',
        '# TYPE conclave_leader gauge',
        'conclave_leader{election="/a",id="one"} 1',
        '',
      ].join('\n'),
    );
    expect(CONTENT_TYPE).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it('has no braces without labels, and nothing at all without series', () => {
    expect(prometheusText(new Map([['conclave_workers', [{ labels: {}, value: 3 }]]]))).toContain(
      '\nconclave_workers 3\n',
    );
    expect(prometheusText(new Map())).toBe('');
  });

  it('has of a histogram the counts up to each bound, and all of them at infinity', () => {
    const measurements = new Measurements({ id: 'one' }, () => undefined);
    for (const value of [0.001, 0.3, 0.3, 99])
      measurements.observe('conclave_heartbeat_latency_seconds', value);
    const lines = prometheusText(measurements.snapshot()).split('\n');
    expect(lines).toContain('# TYPE conclave_heartbeat_latency_seconds histogram');
    const buckets = lines.filter((line) => line.includes('_bucket'));
    expect(buckets[0]).toBe('conclave_heartbeat_latency_seconds_bucket{id="one",le="0.001"} 1');
    expect(buckets).toContain('conclave_heartbeat_latency_seconds_bucket{id="one",le="0.5"} 3');
    expect(buckets.at(-1)).toBe('conclave_heartbeat_latency_seconds_bucket{id="one",le="+Inf"} 4');
    expect(lines).toContain('conclave_heartbeat_latency_seconds_count{id="one"} 4');
    expect(lines).toContain(`conclave_heartbeat_latency_seconds_sum{id="one"} ${0.001 + 0.3 + 0.3 + 99}`);
  });

  it('keeps each series on its line, and gives back each value of a label, whatever is in it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (id) => {
        const text = prometheusText(new Map([['conclave_leader', [{ labels: { id }, value: 1 }]]]));
        const lines = text.split('\n');
        expect(lines).toHaveLength(4);
        const [, escaped = ''] =
          /^conclave_leader\{id="((?:[^"\\\n]|\\["\\n])*)"\} 1$/s.exec(lines[2] as string) ?? [];
        const read = escaped.replace(/\\(["\\n])/g, (_, what) => (what === 'n' ? '\n' : what));
        expect(read).toBe(id);
      }),
    );
  });

  it('escapes quotation marks where they would end something only', () => {
    expect(escapeHelp('a "b" \\ \n')).toBe('a "b" \\\\ \\n');
    expect(escapeValue('a "b" \\ \n')).toBe('a \\"b\\" \\\\ \\n');
  });
});
