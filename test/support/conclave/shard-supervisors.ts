import { expect, onTestFinished } from 'vitest';
import type { Shard } from '../../../src/shards/ownership/owned-shard.js';
import { ShardSupervisor } from '../../../src/shards/supervisor/shard-supervisor.js';
import type { ShardSupervisorOptions } from '../../../src/shards/supervisor/shard-supervisor-options.js';
import { sessionAt, startWithTestClock } from '../servers/embedded-with-test-clock.js';
import { SILENT } from '../silent-logger.mjs';
import { A_WHILE_MS, GROUP, TIMES } from './group-members.js';

export type SupervisedMember = Awaited<ReturnType<Awaited<ReturnType<typeof startSupervisors>>['start']>>;

/** Supervisors of one group on an embedded server, in time that stands still, and the events of each. */
export async function startSupervisors({ shards = 8 }: { shards?: number | string[] } = {}) {
  const { clock, server, open } = await startWithTestClock();
  const make = (id: string, options: Partial<ShardSupervisorOptions> = {}) => {
    const supervisor = new ShardSupervisor({
      connect: server.connectString,
      path: GROUP,
      ...{ id, shards, logger: SILENT },
      ...options,
      session: { ...TIMES, environment: clock.environment },
    });
    const told: string[] = [];
    const errors: Error[] = [];
    supervisor
      .on('acquired', ({ id: shard }) => told.push(`acquired ${shard}`))
      .on('released', ({ id: shard }, reason) => told.push(`released ${shard}: ${reason}`))
      .on('lost', ({ id: shard }, reason) => told.push(`lost ${shard}: ${reason}`))
      .on('expired', () => told.push('expired'))
      .on('cleaned', () => told.push('cleaned'))
      .on('restarting', () => told.push('restarting'))
      .on('stopped', () => told.push('stopped'))
      .on('error', (error) => errors.push(error));
    return { supervisor, told, errors };
  };
  const start = async (id: string, options: Partial<ShardSupervisorOptions> = {}) => {
    const made = make(id, options);
    const { supervisor, errors } = made;
    await clock.advanceUntil(supervisor.start());
    const atServer = sessionAt(server, await supervisor.session());
    onTestFinished(async () => {
      atServer.heal();
      await clock.advanceUntil(supervisor.stop());
    });
    return {
      ...made,
      expire: () => atServer.expire(),
      silence: () => atServer.partition(),
      heal: () => atServer.heal(),
      expectNoErrors: () => expect(errors).toEqual([]),
    };
  };
  /** Starts it, and waits until what is due has been planned and carried out. */
  const startAndWait = async (...given: Parameters<typeof start>) => {
    const member = await start(...given);
    await clock.advance(A_WHILE_MS);
    return member;
  };
  /** The ids of the shards that it owns, in order. */
  const idsOf = ({ supervisor }: { supervisor: ShardSupervisor }) =>
    [...supervisor.owned.values()].sort(inOrder).map(({ id }) => id);
  return { clock, server, open, make, start, startAndWait, idsOf };
}

function inOrder(one: Shard, other: Shard): number {
  return one.index - other.index;
}
