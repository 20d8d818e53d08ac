import { describe, expect, it } from 'vitest';
import { ofConclave } from '../rows/host-failover/settings.mjs';
import { distribution, plots } from './plots.mjs';

const finding = { id: 'uncontended', title: '', columns: [], table: [], notes: [], data: {} };

describe("a benchmark's plots", () => {
  it('show a cumulative distribution', () => {
    expect(distribution([30, 10])).toEqual([
      [10, 0],
      [10, 0.5],
      [30, 1],
    ]);
  });

  it('are drawn only for rows with results', () => {
    expect(plots([finding])).toEqual({});
    const setting = { servers: 1, crowd: 15, pace: 'at once' };
    const failovers = [
      { setting: ofConclave('killed', 6000), rounds: [[2000], [2100]], alreadyLost: 0, failures: [] },
      { setting: ofConclave('stopped', 4000), rounds: [[2000]], alreadyLost: 0, failures: [] },
    ];
    const files = plots([
      { ...finding, id: 'handover', data: [{ setting, series: [{ name: 'raw', rounds: [[1, 2]] }] }] },
      { ...finding, id: 'herd', data: [{ name: 'all', contenders: 2, requests: 2, notifications: 1 }] },
      { ...finding, id: 'host-failover', data: failovers },
    ]);
    expect(Object.keys(files)).toEqual(['handover.svg', 'herd.svg', 'host-failover.svg']);
    for (const svg of Object.values(files)) expect(svg).toMatch(/^<svg .*<\/svg>\n$/s);
    expect(files['handover.svg']).toContain('raw, at once');
    expect(files['host-failover.svg']).toContain('Conclave, 6 s');
    expect(files['host-failover.svg']).not.toContain('Conclave, 4 s');
    expect(files['handover.svg']).not.toContain('after a while');
  });
});
