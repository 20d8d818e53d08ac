import { expect, it } from 'vitest';
import { LateReplies } from '../../../../src/session/keep-alive/late-replies.js';
import { SILENT } from '../../../support/silent-logger.mjs';

const LEASE_MS = 300;

/** The warnings for heartbeats whose replies take these times. */
function warningsOf(...tookMs: number[]): object[] {
  const warnings: object[] = [];
  const lateReplies = new LateReplies({ ...SILENT, warn: (details) => void warnings.push(details) });
  for (const each of tookMs) lateReplies.note(each, LEASE_MS);
  return warnings;
}

it('warns of a lease that replies can not keep: three in a row took longer than half of it', () => {
  expect(warningsOf(151, 180)).toEqual([]);
  expect(warningsOf(151, 180, 202.4)).toEqual([{ leaseMs: 300, replyMs: 202 }]);
});

it('warns once in the life of a session', () => {
  expect(warningsOf(200, 200, 200, 200, 200, 1, 200, 200, 200)).toHaveLength(1);
});

it('warns of nothing while replies come late now and then', () => {
  expect(warningsOf(2000, 1, 200, 200, 150, 200, 200, 1, 2000)).toEqual([]);
});
