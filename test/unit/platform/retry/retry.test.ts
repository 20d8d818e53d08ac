import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../../../src/cluster/supervisor/election-supervisor.js';
import { EmbeddedZooKeeper, TestClock } from '../../../../src/testing/index.js';

describe('a try to join the election', () => {
  it.each<[string, () => never]>([
    [
      'a TypeError',
      () => {
        throw new TypeError("Cannot read properties of undefined (reading 'x')");
      },
    ],
    [
      'what is no error',
      () => {
        throw 'a string';
      },
    ],
  ])('that ends in %s is reported and made again, like any other', async (_, fail) => {
    const clock = new TestClock();
    const server = await EmbeddedZooKeeper.start({ clock });
    let failures = 2;
    // The first thing that the elector needs from its environment is a name for its place in the queue.
    const uuid = () => (failures-- > 0 ? fail() : clock.environment.uuid());
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
    onTestFinished(async () => {
      await clock.advanceUntil(supervisor.stop());
      await server.stop();
    });
    await clock.advanceUntil(supervisor.start());
    await clock.advanceUntil(() => supervisor.health().leading);
    expect(attempts).toEqual([2, 3]);
    expect(errors.length).toBeGreaterThanOrEqual(2);
  });
});
