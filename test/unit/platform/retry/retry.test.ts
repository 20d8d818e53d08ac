import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../../../src/cluster/supervisor/election-supervisor.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

describe('a try to join the election', () => {
  it.each([
    ['a TypeError', new TypeError("Cannot read properties of undefined (reading 'x')")],
    ['what is no error', 'a string'],
  ])('that ends in %s is reported and made again, like any other', async (_, thrown) => {
    const { clock, server } = await startWithTestClock();
    let failures = 2;
    // The first thing that the elector needs from its environment is a name for its place in the queue.
    const uuid = () => {
      if (failures-- > 0) throw thrown;
      return clock.environment.uuid();
    };
    const supervisor = new ElectionSupervisor({
      connect: server.connectString,
      path: '/election',
      id: 'one',
      session: { environment: { ...clock.environment, uuid } },
      retry: { minTimeout: 10, maxTimeout: 10 },
    });
    const errors: unknown[] = [];
    const attempts: number[] = [];
    supervisor.on('error', (error) => void errors.push(error));
    supervisor.on('restarting', ({ attempt }) => void attempts.push(attempt));
    onTestFinished(() => clock.advanceUntil(supervisor.stop()));
    await clock.advanceUntil(supervisor.start());
    await clock.advanceUntil(() => supervisor.health().leading);
    expect(attempts).toEqual([2, 3]);
    expect(errors.length).toBeGreaterThanOrEqual(2);
  });
});
