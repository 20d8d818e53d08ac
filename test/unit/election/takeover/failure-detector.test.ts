import { describe, expect, it } from 'vitest';
import { serializeRecord } from '../../../../src/election/nodes/record.js';
import { FailureDetector, type LeaderFailure } from '../../../../src/election/takeover/failure-detector.js';
import { takeoverDelayMs } from '../../../../src/election/term/takeover-delay.js';
import type { Contender } from '../../../../src/lock/queue/contender.js';
import { parseEntry } from '../../../../src/lock/queue/order.js';
import { FakeClock } from '../../../support/fake-clock.js';

const LEADER = '_c_01234567-89ab-4def-8123-456789abcdef-lock-0000000001';
const NEXT = '_c_76543210-89ab-4def-8123-456789abcdef-lock-0000000002';
const LEASE_MS = 2000;
const DELAY_MS = takeoverDelayMs(LEASE_MS);
const ANSWER_MS = 10;

/** The next in line behind a leader, and what its reads are answered. */
function setUp() {
  const clock = new FakeClock();
  const failures: LeaderFailure[] = [];
  const session = {
    clock,
    connectionNumber: 1,
    leaseMs: LEASE_MS,
    absolute: (path: string) => path,
    heartbeat: { addReads: () => true, removeReads: () => undefined },
  };
  const node = { remainingMs: () => LEASE_MS, keepAlive: () => undefined };
  const contender = { session, queue: '/election', entry: parseEntry(NEXT), node } as unknown as Contender;
  const detector = new FailureDetector({
    ...{ contender, recordPath: '/election', seat: 0, leastDelayMs: 0 },
    isRefused: () => false,
    onFailure: (failure) => failures.push(failure),
  });
  detector.follow(1, LEADER);
  const answer = async (value: unknown) => {
    const { request, answered } = detector.nextRead();
    const sentAt = clock.now();
    await clock.advance(ANSWER_MS);
    answered(value, sentAt);
    return request.name;
  };
  const record = { state: 'held', term: 1, id: 'a', node: LEADER, leaseMs: LEASE_MS, since: 'now' } as const;
  const data = serializeRecord({ ...record, takeover: 'lease' });
  const showRecord = (zxid: bigint) => answer({ data, stat: { version: 1, mzxid: zxid } });
  const showVersion = (version: number) => answer({ version });
  return { clock, session, failures, showRecord, showVersion };
}

describe('what is known of a silent leader', () => {
  it('counts from the first answer that showed its last version', async () => {
    const { clock, failures, showRecord, showVersion } = setUp();
    expect(await showRecord(5n)).toBe('getData');
    expect(await showVersion(7)).toBe('exists');
    await clock.advance(DELAY_MS - ANSWER_MS - 1);
    await showVersion(7);
    expect(failures).toEqual([]);
    await clock.advance(1);
    expect(failures).toMatchObject([{ heartbeatVersion: 7, leader: { zxid: 5n } }]);
  });

  it('counts anew when the record was written again, though the version is the same: a claim begins a lease', async () => {
    const { clock, session, failures, showRecord, showVersion } = setUp();
    await showRecord(5n);
    await showVersion(7);
    await clock.advance(DELAY_MS / 2);
    session.connectionNumber = 2; // Over another connection the record is read again.
    expect(await showRecord(9n)).toBe('getData');
    await showVersion(7);
    await clock.advance(DELAY_MS - ANSWER_MS - 1);
    await showVersion(7);
    expect(failures).toEqual([]);
    await clock.advance(1);
    expect(failures).toMatchObject([{ heartbeatVersion: 7, leader: { zxid: 9n, connection: 2 } }]);
  });

  it('counts on over another connection that shows the same record', async () => {
    const { clock, session, failures, showRecord, showVersion } = setUp();
    await showRecord(5n);
    await showVersion(7);
    session.connectionNumber = 2;
    expect(await showRecord(5n)).toBe('getData');
    await clock.advance(DELAY_MS - 2 * ANSWER_MS - 1);
    await showVersion(7);
    await clock.advance(1);
    expect(failures).toMatchObject([{ heartbeatVersion: 7, leader: { zxid: 5n, connection: 2 } }]);
  });

  it('counts anew with each heartbeat', async () => {
    const { clock, failures, showRecord, showVersion } = setUp();
    await showRecord(5n);
    for (let version = 7; version < 20; version++) {
      await showVersion(version);
      await clock.advance(DELAY_MS - ANSWER_MS - 1);
    }
    expect(failures).toEqual([]);
  });
});
