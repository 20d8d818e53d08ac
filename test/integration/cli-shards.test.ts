import { constants } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GroupStatus } from '../../src/shards/group-status.js';
import { GroupPaths } from '../../src/shards/stored/group-paths.js';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import type { ShardSupervisorOptions } from '../../src/shards/supervisor/shard-supervisor-options.js';
import { conclave } from '../support/conclave/command-line.js';
import { RunningCommand } from '../support/conclave/running-command.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { deferred, until } from '../support/waiting.mjs';

async function shards(...words: string[]) {
  const { stdout, ...rest } = await conclave('shards', ...words);
  return { ...rest, stdout: stdout.join('\n') };
}

/** Runs the command, and returns what it prints. It ends with exit code 0, and complains of nothing. */
async function done(...words: string[]): Promise<string> {
  const { stdout, ...rest } = await shards(...words);
  expect(rest).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

async function statusOf(group: string): Promise<GroupStatus> {
  const { stdout } = await shards('status', group, '--json');
  return JSON.parse(stdout) as GroupStatus;
}

async function start(path: string, id: string, options: Partial<ShardSupervisorOptions> = {}) {
  const supervisor = new ShardSupervisor({
    ...{ connect: connectString(), path, id, shards: 4 },
    session: { sessionTimeoutMs: 10_000 },
    ...options,
  });
  onTestFinished(() => supervisor.stop());
  await supervisor.start();
  return supervisor;
}

/** Starts two members. Each owns two shards. */
async function startTwo(options: Partial<ShardSupervisorOptions> = {}) {
  const path = uniquePath('cli-shards');
  const first = await start(path, 'a', { data: '10.0.0.1:80', ...options });
  await until(() => first.owned.size === 4);
  const second = await start(path, 'b', options);
  await until(() => first.owned.size === 2 && second.owned.size === 2);
  return { path, first, second };
}

const ids = ({ owned }: ShardSupervisor) => [...owned.keys()].sort();

describe('conclave shards', () => {
  it('status prints the members, what each owns, and who plans', async () => {
    const { path } = await startTwo();
    expect((await done('status', path)).split('\n')).toEqual([
      '4 shards, 4 owned; planner a',
      'member a  owns 2: 0-1  10.0.0.1:80',
      'member b  owns 2: 2-3',
    ]);
    const status = await statusOf(path);
    expect(status).toMatchObject({
      group: path,
      planner: 'a',
      members: [
        { id: 'a', data: '10.0.0.1:80', owned: 2, shards: ['0', '1'] },
        { id: 'b', owned: 2, shards: ['2', '3'] },
      ],
    });
    expect(status.shards.map(({ id, owner, term, planned }) => [id, owner, term, planned])).toEqual([
      ['0', 'a', 1, 'a'],
      ['1', 'a', 1, 'a'],
      ['2', 'b', 2, 'b'],
      ['3', 'b', 2, 'b'],
    ]);
  });

  it('status names a shard whose work does not end, and who waits for it', async () => {
    const path = uniquePath('cli-shards');
    const work = deferred();
    const stuck = await start(path, 'a', {
      run: ({ id, number }) => (id === '3' && number === 1 ? work.promise : undefined),
    });
    await until(() => stuck.owned.size === 4);
    const other = await start(path, 'b');
    await until(() => other.owned.size === 1 && stuck.owned.size === 2);
    const { exitCode, stdout } = await shards('status', path);
    expect(exitCode).toBe(1);
    expect(stdout.split('\n').at(-1)).toBe('shard 3: a has still to give it back to b');
    work.resolve();
    await until(() => other.owned.size === 2);
  });

  it('status says what an operator has to do about a record that another client has overwritten', async () => {
    const { path, first } = await startTwo();
    const session = await openSession();
    await session.setData(new GroupPaths(path).recordOf('0'), Buffer.from('maintenance'));
    const { exitCode, stdout } = await shards('status', path);
    expect([exitCode, stdout.split('\n').at(-1)]).toEqual([
      1,
      'shard 0: another client has overwritten its record: its owner keeps it, and no other member can claim it. Stop its owner (a), and write {"format":1,"state":"vacant","term":2} as data of the record',
    ]);
    expect(first.owned.has('0')).toBe(true);
  });

  it('pin gives a shard to a member for good, and unpin takes that back', async () => {
    const { path, first, second } = await startTwo();
    expect(await done('pin', path, '0', 'b')).toBe('shard 0 is pinned to b');
    await until(() => second.owned.has('0'));
    await until(() => first.owned.size === 2 && second.owned.size === 2);
    expect(await done('status', path)).toContain('pinned  shard 0 to b');
    expect(await done('unpin', path, '0', '--json')).toBe('{"pins":{}}');
    expect(second.owned.has('0')).toBe(true);
  });

  it('move changes places with another shard, and leaves no pin', async () => {
    const { path, first, second } = await startTwo();
    const kept = { first: ids(first)[1], second: ids(second)[1] };
    const [moved, back] = [ids(first)[0] as string, ids(second)[0] as string];
    expect(JSON.parse(await done('move', path, moved, 'b', '--json')).moved).toEqual([moved, back]);
    expect([ids(first), ids(second)]).toEqual([[back, kept.first].sort(), [moved, kept.second].sort()]);
    expect((await statusOf(path)).shards.every(({ pinned }) => pinned === undefined)).toBe(true);
    expect(await done('move', path, moved, 'b')).toBe(`b owns shard ${moved} already`);
  });

  it('resize gives a group more shards, and fewer, while its members work', async () => {
    const { path, first, second } = await startTwo();
    expect(await done('resize', path, '8')).toBe('the group has 8 shards');
    await until(() => first.owned.size === 4 && second.owned.size === 4);
    expect(await done('resize', path, '2')).toBe('the group has 2 shards');
    await until(() => first.owned.size === 1 && second.owned.size === 1);
    const again = await start(path, 'c'); // With the former number of shards.
    expect(again.health().ready).toBe(true);
  });

  it('resize to fewer is not done, and status says why, as long as a shard that was removed has an owner', async () => {
    const path = uniquePath('cli-shards');
    const work = deferred();
    const member = await start(path, 'a', { run: ({ id }) => (id === '3' ? work.promise : undefined) });
    await until(() => member.owned.size === 4);
    const resize = () => shards('resize', path, '2', '--timeout', '500ms');
    for (const call of ['first', 'second']) {
      const { exitCode, stderr } = await resize();
      expect([call, exitCode, stderr]).toEqual([
        call,
        75,
        'conclave: some shards still have to be given back within 500 ms: conclave shards status says why',
      ]);
    }
    const { exitCode, stdout } = await shards('status', path);
    expect([exitCode, stdout.split('\n').at(-1)]).toEqual([
      1,
      'shard 3, which the group no longer has: a has still to give it back',
    ]);
    const { removed, shards: left } = await statusOf(path);
    expect(removed).toEqual([
      { id: '3', owner: 'a', term: 1, planned: null, problem: 'a has still to give it back' },
    ]);
    expect(left.map(({ id }) => id)).toEqual(['0', '1']);
    work.resolve();
    expect(await resize()).toMatchObject({ exitCode: 0, stdout: 'the group has 2 shards' });
    expect((await shards('status', path)).exitCode).toBe(0);
    expect((await statusOf(path)).removed).toEqual([]);
  });

  it.each([
    [['status', '/no-such-group'], 64, /is not a group of shards/],
    [['pin', 'GROUP', '9', 'b'], 64, /shard is "9": expected a shard of the group, which has 4 shards/],
    [['move', 'GROUP', '0', 'nemo'], 64, /member is "nemo": expected the id of one of the group's members/],
    [['resize', 'GROUP', '0'], 64, /shards is 0/],
    [['resize', 'GROUP', 'x', 'y'], 64, /shards/],
    [['status', 'relative'], 64, /Expected/],
  ])('%j exits with %i and says why', async (words, code, message) => {
    const path = uniquePath('cli-shards');
    if (words.includes('GROUP')) {
      const member = await start(path, 'a');
      await until(() => member.owned.size === 4);
    }
    const { exitCode, stderr } = await shards(...words.map((word) => (word === 'GROUP' ? path : word)));
    expect(exitCode, stderr).toBe(code);
    expect(stderr).toMatch(message);
  });

  it('move that is not done in time takes its pins back', async () => {
    const work = deferred();
    const { path } = await startTwo({
      run: ({ number, id }) => (number === 1 && id === '0' ? work.promise : undefined),
    });
    const { exitCode, stderr } = await shards('move', path, '0', 'b', '--timeout', '1s');
    expect(exitCode).toBe(75);
    expect(stderr).toMatch(/shard 0 has not moved within 1000 ms/);
    expect((await statusOf(path)).shards.every(({ pinned }) => pinned === undefined)).toBe(true);
    work.resolve();
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('move that %s ends takes its pins back', async (signal) => {
    const work = deferred();
    const { path } = await startTwo({
      run: ({ number, id }) => (number === 1 && id === '0' ? work.promise : undefined),
    });
    const session = await openSession();
    const moves = () => session.getChildren(new GroupPaths(path).pins);
    const move = new RunningCommand(['shards', 'move', path, '0', 'b']);
    await until(async () => (await moves()).length === 1);
    expect(await move.end(signal)).toBe(128 + constants.signals[signal]);
    expect(move.stderr).toContain(`shard 0 has not moved when ${signal} came`);
    expect(await moves()).toEqual([]);
    work.resolve();
  });
});

it('shards status of a group that nobody owns exited with 0', async () => {
  const { path, first, second } = await startTwo();
  expect((await shards('status', path)).exitCode).toBe(0);
  await Promise.all([first.stop(), second.stop()]);
  expect((await shards('status', path)).exitCode).toBe(1);
});

it('shards move without a server was not ended by its timeout', async () => {
  const server = await startEmbedded();
  const connect = server.connectString;
  const work = deferred();
  const first = await start('/group', 'a', { connect, run: () => work.promise });
  await until(() => first.owned.size === 4);
  await start('/group', 'b', { connect });
  const move = shards(
    'move',
    '/group',
    '0',
    'b',
    '-c',
    connect,
    '--session-timeout',
    '3s',
    '--timeout',
    '1s',
  );
  await until(() => server.paths('/group/pins').length === 2);
  server.partition();
  expect((await move).exitCode).toBe(75);
  server.heal();
  work.resolve();
});
