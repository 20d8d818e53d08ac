import { describe, expect, it } from 'vitest';
import { serializeRecord } from '../../../../src/election/nodes/record.js';
import { FailureDetector, type LeaderFailure } from '../../../../src/election/takeover/failure-detector.js';
import { LastObservation } from '../../../../src/election/takeover/lease-observation.js';
import { takeoverDelayMs } from '../../../../src/election/term/takeover-delay.js';
import type { Contender } from '../../../../src/lock/queue/contender.js';
import { parseEntry } from '../../../../src/lock/queue/order.js';
import { FakeClock } from '../../../support/fake-clock.js';

const LEADER = '_c_01234567-89ab-4def-8123-456789abcdef-lock-0000000001';
const BETWEEN = '_c_89abcdef-89ab-4def-8123-456789abcdef-lock-0000000002';
const OWN = '_c_76543210-89ab-4def-8123-456789abcdef-lock-0000000003';
const LEASE_MS = 2000;
const DELAY_MS = takeoverDelayMs(LEASE_MS);
const ANSWER_MS = 10;

/** Makes a candidate behind a leader, at first as the next in line. The test answers its reads. */
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
  const contender = { session, queue: '/election', entry: parseEntry(OWN), node } as unknown as Contender;
  const lastObservation = new LastObservation();
  const newDetector = () =>
    new FailureDetector({
      ...{ contender, recordPath: '/election', seat: 0, leastDelayMs: 0, lastObservation },
      isRefused: () => false,
      onFailure: (failure) => failures.push(failure),
    });
  let detector = newDetector();
  detector.follow(1, LEADER);
  /** Ends the wait in the queue, and begins another one. */
  const waitAgain = (position: number, ahead: string) => {
    detector.stop();
    detector = newDetector();
    detector.follow(position, ahead);
  };
  const answer = async (value: unknown) => {
    const { request, answered } = detector.nextRead();
    await clock.advance(ANSWER_MS);
    answered(value);
    return request.name;
  };
  const record = { state: 'held', term: 1, id: 'a', node: LEADER, leaseMs: LEASE_MS } as const;
  const data = serializeRecord({ ...record, takeover: 'lease' });
  const showRecord = (zxid: bigint) => answer({ data, stat: { version: 1, mzxid: zxid } });
  const showVersion = (version: number) => answer({ version });
  const follow = (position: number, ahead: string) => detector.follow(position, ahead);
  return { clock, session, failures, showRecord, showVersion, follow, waitAgain };
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

  it('claims by no version that was not read over the connection that has shown the record: restored data may bring it again', async () => {
    const { clock, session, failures, showRecord, showVersion } = setUp();
    await showRecord(5n);
    await showVersion(7);
    await clock.advance(DELAY_MS - 3 * ANSWER_MS);
    await showVersion(7);
    session.connectionNumber = 2;
    await clock.advance(2 * ANSWER_MS);
    expect(await showRecord(5n)).toBe('getData');
    expect(failures).toEqual([]);
    await showVersion(7);
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

  it('counts on when another candidate ahead has gone, from the same read on, and with the delay of its new place (seed 51007410)', async () => {
    const { clock, failures, showRecord, showVersion, follow } = setUp();
    follow(2, BETWEEN);
    await showRecord(5n);
    await showVersion(7);
    await clock.advance(DELAY_MS - 2 * ANSWER_MS);
    follow(1, LEADER);
    expect(await showVersion(7)).toBe('exists');
    expect(failures).toEqual([]);
    await clock.advance(ANSWER_MS);
    expect(failures).toMatchObject([{ heartbeatVersion: 7, leader: { zxid: 5n } }]);
  });

  it('reads the record as soon as the leader is not the one node that is left ahead', async () => {
    const { showRecord, showVersion, follow } = setUp();
    follow(2, BETWEEN);
    await showRecord(5n);
    await showVersion(7);
    follow(1, BETWEEN);
    expect(await showRecord(9n)).toBe('getData');
  });

  it('counts on in another wait behind the same leader', async () => {
    const { clock, failures, showRecord, showVersion, waitAgain } = setUp();
    await showRecord(5n);
    await showVersion(7);
    await clock.advance(DELAY_MS - 3 * ANSWER_MS);
    waitAgain(0, LEADER);
    expect(await showRecord(5n)).toBe('getData');
    await showVersion(7);
    expect(failures).toEqual([]);
    await clock.advance(ANSWER_MS);
    expect(failures).toMatchObject([{ heartbeatVersion: 7, leader: { zxid: 5n } }]);
  });

  it('counts anew in another wait in which there was a heartbeat, or another term', async () => {
    const { clock, failures, showRecord, showVersion, waitAgain } = setUp();
    await showRecord(5n);
    await showVersion(7);
    await clock.advance(DELAY_MS / 2);
    waitAgain(0, LEADER);
    await showRecord(5n);
    await showVersion(8);
    await clock.advance(DELAY_MS - ANSWER_MS);
    waitAgain(0, LEADER);
    await showRecord(9n);
    await showVersion(8);
    await clock.advance(DELAY_MS - ANSWER_MS - 1);
    await showVersion(8);
    expect(failures).toEqual([]);
    await clock.advance(1);
    expect(failures).toMatchObject([{ heartbeatVersion: 8, leader: { zxid: 9n } }]);
  });

  it('counts anew when a claim was in vain', async () => {
    const { clock, failures, showRecord, showVersion, waitAgain } = setUp();
    await showRecord(5n);
    await showVersion(7);
    await clock.advance(DELAY_MS);
    await showVersion(7);
    expect(failures).toHaveLength(1);
    waitAgain(0, LEADER);
    await showRecord(5n);
    await showVersion(7);
    await clock.advance(DELAY_MS - ANSWER_MS - 1);
    await showVersion(7);
    expect(failures).toHaveLength(1);
  });
});
