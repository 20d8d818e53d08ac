import { describe, expect, it, onTestFinished } from 'vitest';
import {
  CleanupFailedError,
  InvalidStateError,
  ShardFailedError,
  ShardsMismatchError,
  StopPendingError,
  WorkOverrunError,
} from '../../../../src/errors.js';
import type { Shard } from '../../../../src/shards/ownership/owned-shard.js';
import type { ShardLoss } from '../../../../src/shards/supervisor/shard-supervisor-events.js';
import { A_WHILE_MS, PATHS, REPLACED_MS, TIMES } from '../../../support/conclave/group-members.js';
import { startSupervisors } from '../../../support/conclave/shard-supervisors.js';

/** For a session that finds no server. */
const CLOSES_WITHIN_MS = 2000;

const untilEnd = (shard: Shard) =>
  new Promise<void>((resolve) => shard.signal.addEventListener('abort', () => resolve()));

describe('a supervisor of shards', () => {
  it('owns all shards while it is alone, calls the work for each, and keeps those whose work has returned', async () => {
    const { clock, startAndWait, idsOf } = await startSupervisors();
    const runs: string[] = [];
    const alone = await startAndWait('a', { run: ({ id }) => runs.push(id) });
    await clock.advance(60_000); // The work has returned.
    expect(idsOf(alone)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
    expect(runs.sort()).toEqual(idsOf(alone));
    expect(alone.told).toHaveLength(8);
    expect([...alone.supervisor.owned.values()].every((shard) => shard.isHeld())).toBe(true);
    expect(alone.supervisor.health()).toEqual({
      ...{ live: true, ready: true, owned: 8, planner: true, stuck: [], lacking: [], reasons: [] },
    });
    alone.expectNoErrors();
  });

  it('calls the work again in the same term when it throws, and others hear nothing of it', async () => {
    const { startAndWait, idsOf } = await startSupervisors({ shards: 2 });
    const calls: { id: string; number: number }[] = [];
    const alone = await startAndWait('a', {
      run: ({ id, number }) => {
        calls.push({ id, number });
        if (id === '1' && calls.filter((call) => call.id === '1').length < 3) throw new Error('broken');
      },
    });
    expect(calls.filter(({ id }) => id === '1')).toEqual([1, 2, 3].map(() => ({ id: '1', number: 1 })));
    expect(calls.filter(({ id }) => id === '0')).toHaveLength(1);
    expect(alone.errors.map((error) => (error as ShardFailedError).attempt)).toEqual([1, 2]);
    expect(alone.errors[0]).toBeInstanceOf(ShardFailedError);
    expect(idsOf(alone)).toEqual(['0', '1']);
    expect(alone.told).toEqual(['acquired 0', 'acquired 1']);
  });

  it('gives a shard back whose work fails too often: another member gets it, and no other shard moves', async () => {
    const { clock, start, startAndWait, idsOf } = await startSupervisors({ shards: 4 });
    const retry = { retries: 1, minTimeout: 10 };
    const run = ({ id }: Shard) => {
      if (id === '0') throw new Error('broken here');
    };
    const first = await start('a', { run, retry });
    const second = await startAndWait('b');
    expect(idsOf(first)).not.toContain('0');
    expect(idsOf(second)).toContain('0');
    expect(first.told).toContain('released 0: failed');
    expect([...idsOf(first), ...idsOf(second)].sort()).toEqual(['0', '1', '2', '3']);
    const before = [first.told.length, second.told.length];
    await clock.advance(8000); // It isn't taken again for 10 s at least.
    expect([first.told.length, second.told.length]).toEqual(before);
  });

  it('takes the shard again after a while when no other member can', async () => {
    const { clock, startAndWait, idsOf } = await startSupervisors({ shards: 2 });
    let isBroken = true;
    const retry = { retries: 0, minTimeout: 10 };
    const run = ({ id }: Shard) => {
      if (id === '0' && isBroken) throw new Error('broken');
    };
    const alone = await startAndWait('a', { run, retry });
    expect(idsOf(alone)).toEqual(['1']);
    isBroken = false;
    await clock.advance(20_000);
    expect(idsOf(alone)).toEqual(['0', '1']);
  });

  it('calls the clean-up hook after its session has expired, with the shards that were lost, and joins again after that', async () => {
    const { clock, startAndWait, idsOf } = await startSupervisors({ shards: 2 });
    const losses: ShardLoss[] = [];
    const member = await startAndWait('a', {
      run: untilEnd,
      cleanup: (loss) => {
        losses.push(loss);
        member.told.push(`hook for ${loss.shards.map(({ id }) => id).join()}`);
      },
    });
    member.told.length = 0;
    member.expire();
    await clock.advance(A_WHILE_MS);
    expect(member.told.slice(0, 6)).toEqual([
      ...['lost 0: session-expired', 'lost 1: session-expired', 'expired', 'hook for 0,1', 'cleaned'],
      'restarting',
    ]);
    expect(losses).toMatchObject([{ reason: 'session-expired', attempt: 1, stopping: false }]);
    await clock.advance(REPLACED_MS + A_WHILE_MS);
    expect(idsOf(member)).toEqual(['0', '1']);
    expect([...member.supervisor.owned.values()].every(({ number }) => number === 2)).toBe(true);
  });

  it('calls it also when others have replaced the member, which stood still, while its session lives', async () => {
    const { clock, start, idsOf } = await startSupervisors({ shards: 4 });
    const losses: ShardLoss[] = [];
    const planner = await start('a');
    const member = await start('b', { cleanup: (loss) => void losses.push(loss) });
    await clock.advance(30_000); // It has kept its shards: otherwise the planner would pass over it.
    const had = idsOf(member);
    member.silence();
    await clock.advance(REPLACED_MS);
    expect(idsOf(planner)).toHaveLength(4);
    expect(member.told.filter((line) => line.startsWith('lost'))).toEqual(
      had.map((id) => `lost ${id}: lease-expired`),
    );
    expect(losses).toEqual([]); // Whether it has been replaced, it doesn't know.
    member.heal();
    await clock.advance(TIMES.leaseMs + A_WHILE_MS);
    expect(losses).toMatchObject([{ reason: 'node-deleted', attempt: 1 }]);
    expect(losses[0]?.shards.map(({ id }) => id)).toEqual(had);
    expect([idsOf(planner).length, idsOf(member).length]).toEqual([2, 2]);
    expect(member.told).not.toContain('expired');
  });

  it('takes up its shards again, without a clean-up, when its lease had ended and no other member was there', async () => {
    const { clock, startAndWait, idsOf } = await startSupervisors({ shards: 2 });
    const losses: ShardLoss[] = [];
    const member = await startAndWait('a', { cleanup: (loss) => void losses.push(loss) });
    member.silence();
    await clock.advance(REPLACED_MS);
    expect(idsOf(member)).toEqual([]);
    member.heal();
    await clock.advance(TIMES.leaseMs + A_WHILE_MS);
    expect(idsOf(member)).toEqual(['0', '1']);
    expect(losses).toEqual([]);
  });

  it('waits for the work of what was lost before it cleans up', async () => {
    const { clock, startAndWait } = await startSupervisors({ shards: 1 });
    let settle: () => void = () => undefined;
    const losses: ShardLoss[] = [];
    const member = await startAndWait('a', {
      run: () => new Promise<void>((resolve) => (settle = resolve)),
      cleanup: (loss) => void losses.push(loss),
    });
    member.expire();
    await clock.advance(2 * TIMES.leaseMs);
    expect(losses).toEqual([]);
    expect(member.errors).toMatchObject([{ shard: '0' }]);
    expect(member.errors[0]).toBeInstanceOf(WorkOverrunError);
    expect(member.supervisor.health()).toMatchObject({ live: false, ready: false, stuck: ['0'] });
    settle();
    await clock.advance(A_WHILE_MS);
    expect(losses).toHaveLength(1);
    expect(losses[0]?.shards.map(({ id }) => id)).toEqual(['0']);
  });

  it('stops when its hook fails for good, and says so', async () => {
    const { clock, startAndWait } = await startSupervisors({ shards: 1 });
    const member = await startAndWait('a', {
      retry: { retries: 1, minTimeout: 1 },
      cleanup: () => {
        throw new Error('no');
      },
    });
    member.expire();
    await clock.advance(A_WHILE_MS);
    expect(member.told.at(-1)).toBe('stopped');
    expect(member.errors.at(-1)).toBeInstanceOf(CleanupFailedError);
    expect(member.supervisor.health()).toMatchObject({ live: false, reasons: ['stopped'] });
  });

  it('names a shard whose work does not end, which delays nothing but itself', async () => {
    const { clock, start, startAndWait, idsOf } = await startSupervisors({ shards: 4 });
    let settle: () => void = () => undefined;
    const first = await startAndWait('a', {
      run: (shard) =>
        shard.id === '3' && shard.number === 1
          ? new Promise<void>((resolve) => (settle = resolve))
          : untilEnd(shard),
    });
    const second = await start('b');
    await clock.advance(A_WHILE_MS + TIMES.leaseMs);
    expect([idsOf(first), idsOf(second)]).toEqual([['0', '1'], ['2']]);
    expect(first.supervisor.health()).toMatchObject({ live: true, ready: true, owned: 2, stuck: ['3'] });
    expect(first.supervisor.health().reasons[0]).toMatch(
      /^the work of shard 3 still runs, \d+ ms after it was to end \(moved\)$/,
    );
    expect(second.supervisor.health()).toMatchObject({ owned: 1, lacking: ['3'] });
    settle();
    await clock.advance(A_WHILE_MS);
    expect(idsOf(second)).toEqual(['2', '3']);
  });

  it('says what a stop waits for, and goes on with it', async () => {
    const { clock, startAndWait } = await startSupervisors({ shards: 2 });
    let settle: () => void = () => undefined;
    const member = await startAndWait('a', {
      run: (shard) => (shard.id === '1' ? new Promise<void>((resolve) => (settle = resolve)) : undefined),
    });
    const refused = clock
      .advanceUntil(member.supervisor.stop({ timeoutMs: 100 }))
      .catch((error: unknown) => error);
    const error = (await refused) as StopPendingError;
    expect(error).toBeInstanceOf(StopPendingError);
    expect(error.message).toMatch(/the work of shard 1 still runs/);
    expect(member.told).toContain('released 0: stopped');
    settle();
    await clock.advanceUntil(member.supervisor.stop());
    expect(member.told.at(-1)).toBe('stopped');
  });

  it('stops within a lease and 2 s when no server answers, however long its shards can’t be given back', async () => {
    const { clock, start, idsOf } = await startSupervisors({ shards: 2 });
    const [member, other] = [await start('a', { run: untilEnd }), await start('b')];
    await clock.advance(A_WHILE_MS);
    const [its] = idsOf(member);
    member.silence();
    const stopped = member.supervisor.stop();
    await clock.advance(TIMES.leaseMs + CLOSES_WITHIN_MS);
    expect(member.told).toEqual([`acquired ${its}`, `released ${its}: stopped`, 'stopped']);
    await stopped;
    await clock.advance(REPLACED_MS);
    expect(idsOf(other)).toEqual(['0', '1']);
    member.expectNoErrors();
  });

  it('stops within that time also while it joins', async () => {
    const { clock, server, make } = await startSupervisors({ shards: 2 });
    const { supervisor, told, errors } = make('a');
    const started = supervisor.start().catch((error: unknown) => error);
    // Its node is there when no server answers any more.
    server.delay(60_000, { only: 'multi', path: PATHS.members });
    await clock.advance(10);
    expect(server.paths(PATHS.members)).toHaveLength(3);
    server.partition();
    onTestFinished(() => server.heal());
    void supervisor.stop();
    await clock.advance(TIMES.leaseMs + CLOSES_WITHIN_MS);
    expect(told).toEqual(['stopped']);
    expect(await started).toBeInstanceOf(InvalidStateError);
    expect(errors).toEqual([]);
  });

  it('waits for longer than a lease for servers that answer: its home is written, though that takes a second try', async () => {
    const { clock, server, open, start, startAndWait, idsOf } = await startSupervisors({ shards: 2 });
    const member = await start('a', { run: untilEnd, graceMs: 5000 });
    const other = await startAndWait('b');
    const home = `${PATHS.homes}/a`;
    const outsider = await open(TIMES);
    await clock.advanceUntil(outsider.create(home, { data: Buffer.from('of an earlier time') }));
    const [its] = idsOf(member) as [string];
    server.delay(TIMES.leaseMs - 100, { only: 'multi', path: PATHS.recordOf(its), times: 1 });
    server.delay(150, { only: 'multi', path: home });
    await clock.advanceUntil(member.supervisor.stop());
    server.clearFaults();
    await clock.advance(A_WHILE_MS);
    expect(member.told.slice(1)).toEqual([`released ${its}: stopped`, 'stopped']);
    expect(idsOf(other)).toHaveLength(1); // The other shard waits for its owner to come back.
  });

  it('does not say that work runs, in its health or of its stop, when only a server has still to answer', async () => {
    const { clock, startAndWait } = await startSupervisors({ shards: 2 });
    const member = await startAndWait('a', { run: untilEnd });
    member.silence();
    await clock.advance(2 * TIMES.leaseMs);
    expect(member.told.slice(2)).toEqual(['lost 0: lease-expired', 'lost 1: lease-expired']);
    await clock.advance(TIMES.leaseMs);
    const { stuck, reasons } = member.supervisor.health();
    expect(stuck).toEqual([]);
    expect(reasons.filter((reason) => reason.includes('work'))).toEqual([]);
    const stopped = member.supervisor.stop({ timeoutMs: 100 }).catch((error: unknown) => error);
    const error = (await clock.advanceUntil(stopped)) as StopPendingError;
    expect(error.message).toMatch(
      /^stop\(\) has waited for 100 ms: the shards still have to be given back; /,
    );
    expect(error.waitsFor).toBe('servers');
  });

  it('names in its health a shard that servers refuse to have given back', async () => {
    const { clock, server, start, startAndWait, idsOf } = await startSupervisors({ shards: 2 });
    const member = await startAndWait('a', { run: untilEnd });
    const refusal = server.failWith('NO_AUTH', {
      operation: 'multi',
      path: PATHS.recordOf('1'),
      times: 1000,
    });
    const other = await start('b');
    await clock.advance(A_WHILE_MS + TIMES.leaseMs);
    expect(member.supervisor.health()).toMatchObject({ live: true, ready: true, owned: 1, stuck: [] });
    expect(member.supervisor.health().reasons).toEqual([
      expect.stringMatching(/^shard 1 still has to be given back, \d+ ms after it was to end \(moved\)$/),
    ]);
    expect(member.errors.length).toBeGreaterThan(0);
    refusal.clear();
    await clock.advance(A_WHILE_MS + TIMES.leaseMs);
    expect(idsOf(other)).toEqual(['1']);
    expect(member.supervisor.health().reasons).toEqual([]);
  });

  it.each([
    ['asks whether it is held', (shard: Shard) => shard.isHeld()],
    ['does not ask', () => undefined],
  ])(
    'begins no work for a shard whose lease has ended inside a listener of acquired that %s, and takes it up again',
    async (_, ask) => {
      const { clock, make } = await startSupervisors({ shards: 1 });
      const begun: number[] = [];
      const { supervisor, told, errors } = make('a', { run: ({ number }) => void begun.push(number) });
      supervisor.once('acquired', (shard) => {
        clock.jump(TIMES.leaseMs + 1);
        ask(shard);
      });
      onTestFinished(() => clock.advanceUntil(supervisor.stop()));
      await clock.advanceUntil(supervisor.start());
      await clock.advance(TIMES.leaseMs + A_WHILE_MS);
      expect(told).toEqual(['acquired 0', 'lost 0: lease-expired', 'acquired 0']);
      expect(begun).toEqual([2]);
      expect(errors).toEqual([]);
    },
  );

  it('may be stopped by a listener of acquired, and nothing goes wrong', async () => {
    const { clock, make } = await startSupervisors({ shards: 4 });
    const logged: string[] = [];
    const log = (_: object, message?: string) => void logged.push(String(message));
    const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: log };
    const { supervisor, told, errors } = make('a', { run: untilEnd, logger });
    supervisor.once('acquired', () => void supervisor.stop());
    await clock.advanceUntil(supervisor.start());
    await clock.advance(A_WHILE_MS);
    expect(told.at(-1)).toBe('stopped');
    expect(supervisor.owned.size).toBe(0);
    expect([errors, logged]).toEqual([[], []]);
  });

  it('drains: others get its shards, and it owns nothing more, stops, and leaves nothing behind', async () => {
    const { clock, server, start, idsOf } = await startSupervisors();
    const [planner, other] = [await start('a', { run: untilEnd }), await start('b', { run: untilEnd })];
    await clock.advance(A_WHILE_MS);
    expect(planner.supervisor.health().planner).toBe(true);
    const shards = idsOf(planner);
    expect(shards).toHaveLength(4);
    await clock.advanceUntil(planner.supervisor.drain());
    expect(idsOf(planner)).toEqual([]);
    expect(planner.told.slice(4, 8).sort()).toEqual(shards.map((id) => `released ${id}: moved`));
    expect(planner.told.slice(8)).toEqual(['stopped']);
    expect(idsOf(other)).toHaveLength(8);
    await clock.advanceUntil(other.supervisor.drain());
    expect(other.told.at(-1)).toBe('stopped');
    expect(server.sessions()).toEqual([]);
    planner.expectNoErrors();
    other.expectNoErrors();
  });

  it.each(['stop', 'drain'] as const)(
    'may be told to %s from inside the work of a shard, which does not wait for its own end',
    async (end) => {
      const { clock, start } = await startSupervisors({ shards: 2 });
      const member = await start('a', {
        run: async (shard) => {
          if (shard.id === '1') await member.supervisor[end]();
        },
      });
      await clock.advance(A_WHILE_MS);
      expect(member.told.at(-1)).toBe('stopped');
      member.expectNoErrors();
    },
  );

  it('is refused by a group that has other shards, and stops', async () => {
    const { clock, start, make } = await startSupervisors({ shards: 4 });
    await start('a');
    const { supervisor, told } = make('b', { shards: 5 });
    const refused = await clock.advanceUntil(supervisor.start().catch((error: unknown) => error));
    expect(refused).toBeInstanceOf(ShardsMismatchError);
    expect((refused as Error).message).toBe(
      '/group has 4 shards, but this process was given 5 shards: give all members the same shards',
    );
    expect(told).toEqual(['stopped']);
  });

  it('can be stopped before it has started, and while it joins', async () => {
    const { clock, server, make } = await startSupervisors();
    const never = make('a');
    await clock.advanceUntil(never.supervisor.stop());
    await expect(never.supervisor.start()).rejects.toBeInstanceOf(InvalidStateError);
    const joining = make('b');
    const started = joining.supervisor.start().catch((error: unknown) => error);
    await clock.advanceUntil(joining.supervisor.stop());
    expect(await started).toBeInstanceOf(InvalidStateError);
    expect(server.sessions()).toEqual([]);
  });
});

it('what is logged of a supervisor of shards is a line for each transition of a shard, with the group, the member, the shard and its term', async () => {
  const { clock, startAndWait } = await startSupervisors({ shards: 2 });
  const lines: (Record<string, unknown> & { message: string })[] = [];
  const ignore = () => undefined;
  const info = (details: object, message: string) => void lines.push({ ...details, message });
  const first = await startAndWait('a', { logger: { debug: ignore, info, warn: ignore, error: ignore } });
  await startAndWait('b');
  first.expire();
  await clock.advance(A_WHILE_MS);
  const ofShards = lines.filter(({ shard }) => shard !== undefined);
  expect(ofShards.slice(0, 4).map(({ message, reason }) => [message, reason])).toEqual([
    ['acquired', undefined],
    ['acquired', undefined],
    ['released', 'moved'],
    ['lost', 'session-expired'],
  ]);
  for (const line of ofShards)
    expect(line).toMatchObject({ group: '/group', id: 'a', term: expect.any(Number) });
  expect(ofShards[2]).toMatchObject({
    settledMs: expect.any(Number),
    token: expect.stringMatching(/^\d+$/),
  });
  const messages = lines.map(({ message }) => message);
  expect(messages.slice(0, 3)).toEqual(['session opened', 'joined the group', 'elected']);
  expect(messages).toContain('planned');
});
