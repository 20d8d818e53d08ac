import { describe, expect, it, onTestFinished } from 'vitest';
import { ZooKeeperError } from '../../../../src/errors.js';
import { followWakeUps } from '../../../../src/shards/planner/wake-up-node.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const PATH = '/hint';
const LEASE_MS = 2000;
const NO_DATA = Buffer.alloc(0);

async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const session = await open({ sessionTimeoutMs: 10_000, leaseMs: LEASE_MS });
  await clock.advanceUntil(session.create(PATH));
  const told = { changes: 0, errors: [] as unknown[] };
  const watch = () => {
    const hint = followWakeUps(session, PATH, {
      onChange: () => {
        told.changes++;
      },
      onError: (error) => told.errors.push(error),
    });
    onTestFinished(() => hint.stop());
    return hint;
  };
  const write = () => clock.advanceUntil(session.setData(PATH, NO_DATA));
  return { clock, server, session, told, watch, write };
}

describe('the watch of a node that is written for the planner', () => {
  it('tells of each change since it was read first, and of none once it is stopped', async () => {
    const { clock, told, watch, write } = await setUp();
    const hint = watch();
    await clock.advance(10);
    expect(told.changes).toBe(0);
    for (const count of [1, 2]) {
      await write();
      await clock.advance(10);
      expect(told.changes).toBe(count);
    }
    hint.stop();
    await write();
    await clock.advance(10);
    expect(told).toEqual({ changes: 2, errors: [] });
  });

  it('makes a node anew that was deleted, and tells of its changes as before', async () => {
    const { clock, server, session, told, watch, write } = await setUp();
    watch();
    await clock.advance(10);
    await clock.advanceUntil(session.remove(PATH));
    await clock.advance(10);
    expect(told.changes).toBe(1);
    await clock.advance(LEASE_MS);
    expect(server.paths(PATH)).toEqual([PATH]);
    expect(told.changes).toBe(2); // It may have been written before it was watched again.
    await write();
    await clock.advance(10);
    expect(told).toEqual({ changes: 3, errors: [] });
  });

  it('leaves a node that was deleted alone once it is stopped, with no timer left', async () => {
    const { clock, server, session, watch } = await setUp();
    const hint = watch();
    await clock.advance(10);
    const timers = clock.timerCount;
    await clock.advanceUntil(session.remove(PATH));
    await clock.advance(10);
    hint.stop();
    expect(clock.timerCount).toBeLessThanOrEqual(timers);
    await clock.advance(10 * LEASE_MS);
    expect(server.paths(PATH)).toEqual([]);
  });

  it('reports once that a server refuses, and goes on as soon as it doesn’t', async () => {
    const { clock, server, told, watch, write } = await setUp();
    server.failWith('NO_AUTH', { operation: 'getData', times: 3 });
    watch();
    await clock.advance(10);
    expect(told.errors).toEqual([expect.any(ZooKeeperError)]);
    await clock.advance(4 * LEASE_MS);
    expect(told.errors).toHaveLength(1);
    const before = told.changes;
    await write();
    await clock.advance(10);
    expect(told.changes).toBe(before + 1);
  });
});
