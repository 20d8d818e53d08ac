import { describe, expect, it } from 'vitest';
import { NO_REPORT, parseReport, serializeReport } from '../../../../src/shards/nodes/member-report.js';
import { ShardList } from '../../../../src/shards/nodes/shard-list.js';

const KNOWN = { list: ShardList.of(8), version: 3 };

describe('a member’s report', () => {
  it.each([NO_REPORT, { draining: true, refused: ['1', '2', '7'], ready: ['3'] }])(
    'is read as it was written: %j',
    (report) => {
      expect(parseReport(serializeReport(report, KNOWN), KNOWN)).toEqual(report);
    },
  );

  it('says of draining only that a member drains', () => {
    const report = { draining: false, refused: ['1', '2'], ready: [] };
    expect(String(serializeReport(report, KNOWN))).toBe(
      '{"format":"conclave.report.1","list":3,"refused":[[1,2]],"ready":[]}',
    );
  });

  it('of another list of names says only whether its member drains', () => {
    const names = { list: ShardList.of(['eu', 'us']), version: 3 };
    const data = serializeReport({ draining: true, refused: ['eu'], ready: ['us'] }, names);
    expect(parseReport(data, { ...names, version: 4 })).toEqual({ ...NO_REPORT, draining: true });
  });

  it.each([
    '{',
    '{"list":3,"refused":[],"ready":[]}',
    '{"format":"conclave.report.1","refused":[],"ready":[]}',
    '{"format":"conclave.report.1","list":3,"refused":[]}',
    '{"format":"conclave.report.1","list":3,"refused":[7],"ready":[]}',
  ])('isn’t one: %s', (data) => {
    expect(parseReport(Buffer.from(data), KNOWN)).toBeUndefined();
  });
});
