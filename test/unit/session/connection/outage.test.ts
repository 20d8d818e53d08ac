import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NoServerError } from '../../../../src/errors.js';
import { Outage, OwnFailure, reportPauseMs } from '../../../../src/session/connection/outage.js';

const server = { host: '10.0.0.1', port: 2181 };
const refused = new Error('connect ECONNREFUSED 10.0.0.1:2181');

/** A server has its turn, and refuses. @returns what is reported then */
function refusedAt(now: number, outage: Outage, servers = 1, by = server, failure: unknown = refused) {
  outage.searched(now);
  outage.tried();
  outage.failed(by, failure);
  return outage.report(now, servers);
}

describe('a time without a server', () => {
  it('is reported after the first whole round, with the last one tried and why', () => {
    const outage = new Outage();
    expect([refusedAt(100, outage, 3), refusedAt(200, outage, 3)]).toEqual([undefined, undefined]);
    const error = refusedAt(350, outage, 3);
    expect(error).toBeInstanceOf(NoServerError);
    expect(error).toMatchObject({ address: '10.0.0.1:2181', forMs: 250, cause: refused, retryable: true });
    expect(error?.message).toMatch(
      /^no server accepted the session: connect ECONNREFUSED 10\.0\.0\.1:2181; still retrying/,
    );
  });

  it('is reported after pauses that double, from a second to a minute', () => {
    expect([1, 2, 3, 6, 7, 8, 5000].map(reportPauseMs)).toEqual([
      1000, 2000, 4000, 32_000, 60_000, 60_000, 60_000,
    ]);
  });

  it('is reported at most once a pause, whenever servers have their turns, and never late by more than a turn', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 300 }), (steps) => {
        const outage = new Outage();
        const reports: number[] = [];
        let now = 0;
        for (const step of steps) {
          now += step;
          const dueAt = reports.length === 0 ? 0 : (reports.at(-1) as number) + reportPauseMs(reports.length);
          const isReported = refusedAt(now, outage) !== undefined;
          expect(isReported).toBe(now >= dueAt);
          if (isReported) reports.push(now);
        }
      }),
    );
  });

  it('is not reported before the lease of a session that was served is over', () => {
    const outage = new Outage();
    outage.begin(1000, 2000);
    const reportedAt = [1000, 1010, 2999, 3000].filter((now) => refusedAt(now, outage) !== undefined);
    expect(reportedAt).toEqual([3000]);
  });

  it('begins anew when a server has served', () => {
    const outage = new Outage();
    const fail = (now: number) => refusedAt(now, outage, 1, { host: '::1', port: 2181 });
    expect(fail(0)).toMatchObject({
      address: '[::1]:2181',
      message: expect.stringContaining(', from [::1]:2181;'),
    });
    expect(fail(10)).toBeUndefined();
    outage.end();
    expect(outage.report(5000, 1)).toBeUndefined();
    expect(fail(6000)).toMatchObject({ forMs: 0 });
  });

  it('asks whether the servers are up only after a failure of a server (it asked so after one of the application)', () => {
    const messageAfter = (failure: unknown) => refusedAt(0, new Outage(), 1, server, failure)?.message;
    expect(messageAfter(refused)).toContain('are the servers up');
    expect(messageAfter(new OwnFailure(new Error('no ticket')))).toMatch(
      /: no ticket, from .*; still retrying$/,
    );
  });
});
