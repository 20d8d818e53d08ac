import { describe, expect, it } from 'vitest';
import { remove } from '../../src/cli/prune/remove-nodes.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { parseRecord, serializeRecord } from '../../src/election/record/election-record.js';
import { jobNodeNameOf, serializeLastRun } from '../../src/jobs/last-run.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { Semaphore } from '../../src/lock/semaphore.js';
import type { Session } from '../../src/session/session.js';
import { conclave } from '../support/conclave/command-line.js';
import { campaign, DEAD, lead } from '../support/conclave/electors.js';
import { RunningCommand } from '../support/conclave/running-command.js';
import {
  connectString,
  openProxied,
  openSession,
  openWithPath,
  uniquePath,
} from '../support/conclave/sessions.js';
import { until } from '../support/waiting.mjs';

/** Makes an election that had one term, and that has no candidate any more. */
async function leave(session: Session, path: string) {
  const [elector, term] = await lead(session, path);
  await elector.stop();
  return term;
}

const isThere = async (session: Session, path: string) => (await session.exists(path)) !== undefined;

describe('conclave prune', () => {
  it('removes what no process takes part in, and keeps all else', async () => {
    const { session, path: root } = await openWithPath('prune');
    await leave(session, `${root}/old`);
    await leave(session, `${root}/deep/old`);
    await leave(session, `${root}/old/nested`);
    const [, term] = await lead(await openSession(), `${root}/led`);
    await new DistributedLock(session, `${root}/lock`).using(() => undefined);
    await new Semaphore(session, `${root}/semaphore`, 3).using(() => undefined);
    await session.ensurePath(`${root}/never-led`);
    await session.create(`${root}/mine`, { data: Buffer.from('{"state":"vacant","term":3}') });
    const shown = await conclave('prune', root);
    expect(shown.exitCode).toBe(0);
    expect(shown.stdout.map((line) => line.replace(/\d+m?s ago/, 'N ago'))).toEqual(
      ['deep/old', 'old/nested'].map((name) => `${root}/${name}  term 1  changed N ago`),
    );
    expect(shown.stderr).toBe(
      `conclave: ${root}/old is kept: it has other nodes below it, nested for one. Name it to make it a folder again\nconclave: 2 elections would be removed: give --yes`,
    );
    expect(await conclave('prune', root, '--yes')).toMatchObject({
      exitCode: 0,
      stdout: [`${root}/deep/old`, `${root}/old/nested`],
    });
    expect(await conclave('prune', root, '-y')).toMatchObject({
      exitCode: 0,
      stdout: [`${root}/old`],
      stderr: '',
    });
    expect(await conclave('prune', root, '-y')).toMatchObject({
      exitCode: 0,
      stdout: [],
      stderr: 'conclave: there is nothing to remove; 1 election in use',
    });
    const left = (await session.getChildren(root)).sort();
    expect(left).toEqual(['deep', 'led', 'lock', 'mine', 'never-led', 'semaphore']);
    expect(term.isHeld()).toBe(true);
  });

  it('keeps the election of a group of shards, which belongs to its group', async () => {
    const { session, path: root } = await openWithPath('prune');
    await session.ensurePath(`${root}/group/planner`);
    await session.setData(`${root}/group`, Buffer.from('{"format":"conclave.shards.1","count":2}'));
    await leave(session, `${root}/group/planner`);
    expect((await conclave('prune', root, '--yes')).stdout).toEqual([]);
    expect(await isThere(session, `${root}/group/planner`)).toBe(true);
  });

  it('removed elections below data that it can not read, which may be those of a newer release', async () => {
    const { session, path: root } = await openWithPath('prune');
    await leave(session, `${root}/new/election`);
    await session.setData(`${root}/new`, Buffer.from('{"format":"conclave.new.1"}'));
    expect(await conclave('prune', root, '--yes')).toEqual({
      exitCode: 0,
      stdout: [],
      stderr: `conclave: ${root}/new is kept: it has data that Conclave has not written. Name a path below it to remove elections there\nconclave: there is nothing to remove; 0 elections in use`,
    });
    expect((await conclave('prune', `${root}/new`, '--yes')).stdout).toEqual([`${root}/new/election`]);
  });

  describe('of a path below a group of shards', () => {
    /** A group as its members leave it: shard 3 was owned and given back, and so was the planner's election. */
    async function leaveGroup() {
      const { session, path: group } = await openWithPath('prune');
      for (const folder of ['members', 'shards', 'plans', 'planner'])
        await session.ensurePath(`${group}/${folder}`);
      await session.setData(group, Buffer.from('{"format":"conclave.shards.1","count":4}'));
      const record = `${group}/shards/3`;
      await session.create(record);
      await session.setData(record, serializeRecord({ state: 'vacant', term: 2 }));
      await session.setData(`${group}/planner`, serializeRecord({ state: 'vacant', term: 2 }));
      return { group, session };
    }

    it.each([
      ['a shard that is named', (group: string) => [`${group}/shards/3`]],
      ['the folder of the shards', (group: string) => [`${group}/shards`]],
      ['the election of the planner that is named', (group: string) => [`${group}/planner`]],
      ['a path that is there no more', (group: string) => [`${group}/shards/none/of/these`]],
    ])('removes nothing, and names the group: %s', async (_, words) => {
      const { group, session } = await leaveGroup();
      const path = words(group).at(-1) as string;
      expect(await conclave('prune', ...words(group), '--yes')).toEqual({
        exitCode: 64,
        stdout: [],
        stderr: `conclave: ${path} is below ${group}, a group of shards: prune removes nothing that belongs to a group`,
      });
      expect(await isThere(session, `${group}/shards/3`)).toBe(true);
      expect(await isThere(session, `${group}/planner`)).toBe(true);
    });

    it.each([
      ['overwritten', 'hello'],
      ['emptied', ''],
      ['written by a newer release', '{"format":"conclave.shards.2","count":4}'],
    ])('removed the records of a live group whose list of shards was %s', async (_, data) => {
      const { group, session } = await leaveGroup();
      await session.setData(group, Buffer.from(data));
      for (const words of [[group], [`${group}/shards`], [group, '--locks'], [`${group}/shards/3`]]) {
        const { stdout } = await conclave('prune', ...words, '--yes');
        expect(stdout.filter((line) => line.startsWith(group))).toEqual([]);
      }
      for (const part of ['shards/3', 'planner', 'members', 'plans'])
        expect([part, await isThere(session, `${group}/${part}`)]).toEqual([part, true]);
    });

    it('removes nothing, also if the chroot hides the group', async () => {
      const { group, session } = await leaveGroup();
      const below = `${connectString()}${group}/shards`;
      for (const path of ['/3', '/'])
        expect(await conclave('prune', path, '--yes', '-c', below)).toMatchObject({
          exitCode: 64,
          stdout: [],
          stderr: expect.stringContaining(`below ${group}, a group of shards`),
        });
      expect(await isThere(session, `${group}/shards/3`)).toBe(true);
    });

    it('removes nothing, and says so, if it may not read whether a node above is a group', async () => {
      const auth = { scheme: 'digest', credentials: 'alice:wonder' };
      const owner = await openSession({ auth });
      const path = uniquePath('prune');
      const everyone = [{ scheme: 'world', id: 'anyone', permissions: 31 }];
      await owner.create(path, { access: [{ scheme: 'auth', id: '', permissions: 31 }] });
      await owner.create(`${path}/election`, { access: everyone });
      await owner.setData(`${path}/election`, serializeRecord({ state: 'vacant', term: 3 }));
      expect(await conclave('prune', `${path}/election`, '--yes')).toEqual({
        exitCode: 77,
        stdout: [],
        stderr: `conclave: ${path} can't be read: it may be a group of shards, and prune removes nothing that belongs to a group`,
      });
      expect(await isThere(owner, `${path}/election`)).toBe(true);
    });
  });

  it('removes one whose path is named, and says why it keeps it otherwise, with exit code 75', async () => {
    const { session, path } = await openWithPath('prune');
    expect(await conclave('prune', path, '--yes')).toMatchObject({
      exitCode: 0,
      stderr: 'conclave: there is nothing to remove; 0 elections in use',
    });
    const before = await leave(session, path);
    expect(await conclave('prune', path, '--yes', '--older-than', '1h')).toMatchObject({
      exitCode: 75,
      stdout: [],
    });
    expect(await conclave('prune', path, '--yes')).toMatchObject({ exitCode: 0, stdout: [path] });
    expect(await isThere(session, path)).toBe(false);
    // A pruned election that is used again begins with term 1. Its tokens go on rising.
    const [elector, term] = await lead(session, path);
    expect([term.number, term.token > before.token]).toEqual([1, true]);
    expect(await conclave('prune', path, '--yes')).toMatchObject({
      exitCode: 75,
      stderr: `conclave: ${path} is kept: it has candidates\nconclave: there is nothing to remove; 1 election in use`,
    });
    await elector.stop();
  });

  it.each([
    [[], "missing required argument 'path'"],
    [['/a', '/b'], "too many arguments for 'prune'"],
    [['b'], 'Expected an absolute path, beginning with /.'],
    [['/b', '--older-than', '30'], '30 is 30 ms: did you mean 30s?'],
  ])('refuses %j', async (words, said) => {
    const { exitCode, stderr } = await conclave('prune', ...words);
    expect([exitCode, stderr]).toEqual([64, expect.stringContaining(said)]);
  });

  it('waits out the lease of a leader that ended uncleanly', async () => {
    const { session, path } = await openWithPath('prune');
    await session.create(path);
    await session.setData(path, serializeRecord({ ...DEAD, leaseMs: 1000 }), 0);
    const began = session.clock.now();
    expect(await conclave('prune', path, '--yes')).toMatchObject({ exitCode: 0, stdout: [path] });
    expect(session.clock.now() - began).toBeGreaterThan(1000);
  });

  it('keeps one that a candidate has joined, or has led, since it was read', async () => {
    const { session, path } = await openWithPath('prune');
    await leave(session, path);
    const { version } = (await session.getData(path)).stat;
    const parts = [{ kind: 'delete', path, version } as const];
    const elector = new LeaderElector(await openSession(), path, { id: 'late' });
    await elector.start();
    expect(await remove(session, parts)).toEqual({
      kind: 'kept',
      reason: expect.stringMatching(/meanwhile$/),
    });
    await elector.stop();
    expect(await remove(session, parts)).toEqual({ kind: 'kept', reason: 'it has changed meanwhile' });
    const { data, stat } = await session.getData(path);
    expect(parseRecord(data, stat.version)).toEqual({ state: 'vacant', term: 2 });
    await session.create(`${path}/child`);
    expect(await remove(session, [{ kind: 'delete', path, version: stat.version }])).toEqual({
      kind: 'kept',
      reason: 'a process has joined meanwhile',
    });
    expect(await remove(session, [{ kind: 'delete', path: `${path}/none` }])).toMatchObject({ kind: 'kept' });
  });

  it('finds out that it has removed one when the reply was lost', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 10_000 });
    const other = await openSession();
    await leave(other, path);
    const { version } = (await session.getData(path)).stat;
    const lost = proxy.loseReplyTo('multi', { text: path });
    expect(await remove(session, [{ kind: 'delete', path, version }])).toEqual({ kind: 'removed' });
    await lost;
    expect(await isThere(other, path)).toBe(false);
  });

  it('said that a folder is kept, when the reply to its becoming one again was lost', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 10_000 });
    const other = await openSession();
    await leave(other, path);
    await other.create(`${path}/folder`);
    const lost = proxy.loseReplyTo('multi', { text: path });
    const words = ['prune', path, '--yes', '--connect', proxy.connectString];
    expect(await conclave(...words)).toMatchObject({ exitCode: 0, stdout: [path] });
    await lost;
    expect((await session.getData(path)).data).toHaveLength(0);
  });

  it('left a folder of elections an election for good, once conclave run was started with its path', async () => {
    const { session, path } = await openWithPath('prune');
    await leave(session, `${path}/scheduler`);
    const runner = new RunningCommand(['run', path, '--', 'sh', '-c', 'sleep 60']);
    await until(() => runner.stderr.includes('\n'), 'the warning');
    expect(runner.stderr).toBe(
      `conclave: ${path} has other nodes below it, ${path}/scheduler for one. If it is a folder of elections, end this command, and make it a folder again with conclave prune ${path} --yes\n`,
    );
    await until(async () => (await session.getData(path)).data.length > 0, 'the term');
    await runner.end('SIGTERM');
    expect((await conclave('prune', path)).stdout).toEqual([
      expect.stringMatching(`^${path}  term 1  .*  stays, as a folder$`),
      expect.stringContaining(`${path}/scheduler`),
    ]);
    await campaign(session, `${path}/scheduler`);
    expect(await conclave('prune', path, '--yes')).toMatchObject({ exitCode: 0, stdout: [path] });
    expect((await session.getData(path)).data).toHaveLength(0);
    expect(await session.getChildren(path)).toEqual(['scheduler']);
    expect((await conclave('status', '--root', path)).stdout).toHaveLength(2);
  });

  it('takes the records of jobs along, unless a job ran of late', async () => {
    const { session, path } = await openWithPath('prune');
    await leave(session, path);
    await session.create(`${path}/cron`);
    await session.create(`${path}/cron/${jobNodeNameOf('backup')}`, {
      data: serializeLastRun({ at: 1, id: 'x', token: '1' }),
    });
    expect(await conclave('prune', path, '--yes')).toMatchObject({
      exitCode: 75,
      stderr: expect.stringContaining(`conclave: ${path} is kept: a job ran less than an hour ago\n`),
    });
  });

  it('exits with 77 if the servers do not let it delete an election', async () => {
    const path = uniquePath('prune');
    const auth = { scheme: 'digest', credentials: 'alice:wonder' };
    const owner = await openSession({ auth });
    const access = [
      { scheme: 'auth', id: '', permissions: 31 },
      { scheme: 'world', id: 'anyone', permissions: 1 },
    ];
    await owner.create(path, { access });
    await owner.create(`${path}/election`, { data: Buffer.alloc(0), access });
    await owner.setData(`${path}/election`, serializeRecord({ state: 'vacant', term: 3 }));
    expect(await conclave('prune', path, '--yes')).toMatchObject({
      exitCode: 77,
      stdout: [],
      stderr: `conclave: ${path}/election is kept: the servers do not let this client delete it`,
    });
    await owner.create(`${path}/secret`);
    expect((await conclave('prune', path)).stderr).toContain(
      `conclave: ${path}/secret can't be read: no permission\n`,
    );
  });
});

it.each([[[]], [['--locks']]])(
  'conclave prune %j exited with 0 at a path that it may not read',
  async (words) => {
    const path = uniquePath('prune');
    const owner = await openSession({ auth: { scheme: 'digest', credentials: 'alice:wonder' } });
    await owner.create(path);
    expect(await conclave('prune', path, ...words)).toMatchObject({
      exitCode: 77,
      stdout: [],
      stderr: expect.stringContaining(`conclave: ${path} can't be read: no permission\n`),
    });
  },
);

describe('conclave prune --locks', () => {
  const use = (session: Session, path: string) => new DistributedLock(session, path).using(() => undefined);

  it('removes the paths of locks and semaphores that nobody uses, and keeps all else', async () => {
    const { session, path: root } = await openWithPath('prune');
    await use(session, `${root}/orders/1`);
    await use(session, `${root}/orders/2`);
    await new Semaphore(session, `${root}/semaphore`, 3).using(() => undefined);
    const resized = new Semaphore(session, `${root}/resized`, 3);
    await resized.using(() => undefined);
    await resized.resize(4);
    const hold = await new DistributedLock(session, `${root}/held`).acquire();
    await use(session, `${root}/held/nested`);
    await session.ensurePath(`${root}/never-used`);
    await use(session, `${root}/mine`);
    await session.setData(`${root}/mine`, Buffer.from('mine'));
    await leave(session, `${root}/election`);
    await use(session, `${root}/election/cron`);
    await session.ensurePath(`${root}/group/members`);
    await use(session, `${root}/group/members`);
    await session.setData(`${root}/group`, Buffer.from('{"format":"conclave.shards.1","count":2}'));
    const kept = `conclave: ${root}/resized is kept: its number of seats was changed, and processes may start with the former number`;
    const removed = ['held/nested', 'orders/1', 'orders/2', 'semaphore'].map((name) => `${root}/${name}`);
    const shown = await conclave('prune', root, '--locks');
    expect(shown.stdout.map((line) => line.replace(/\d+m?s ago/, 'N ago'))).toEqual(
      removed.map((path) => `${path}${path.endsWith('semaphore') ? '  3 seats' : ''}  created N ago`),
    );
    expect(shown.stderr).toBe(`${kept}\nconclave: 4 locks would be removed: give --yes`);
    expect(await isThere(session, `${root}/orders/1`)).toBe(true);
    const pruned = await conclave('prune', root, '--locks', '--yes');
    expect(pruned).toEqual({ exitCode: 0, stdout: removed, stderr: kept });
    expect((await session.getChildren(root)).sort()).toEqual(
      ['election', 'group', 'held', 'mine', 'never-used', 'orders', 'resized'].sort(),
    );
    for (const path of ['election/cron', 'group/members'])
      expect([path, await isThere(session, `${root}/${path}`)]).toEqual([path, true]);
    expect(hold.isHeld()).toBe(true);
  });

  it('keeps the path itself, and says that there is nothing to remove', async () => {
    const { session, path: root } = await openWithPath('prune');
    await use(session, root);
    const hold = await new DistributedLock(session, `${root}/held`).acquire();
    expect(await conclave('prune', root, '--locks', '-y')).toEqual({
      exitCode: 0,
      stdout: [],
      stderr: 'conclave: there is nothing to remove; 1 lock in use',
    });
    await hold.release();
    await session.remove(`${root}/held`);
    expect((await conclave('prune', root, '--locks', '-y')).stdout).toEqual([]);
    expect(await isThere(session, root)).toBe(true);
  });

  it('removes the path of a semaphore of which a process goes on', async () => {
    const { session, path: root } = await openWithPath('prune');
    const path = `${root}/semaphore`;
    const semaphore = new Semaphore(session, path, 2);
    await semaphore.using(() => undefined);
    expect((await conclave('prune', root, '--locks', '--yes')).stdout).toEqual([path]);
    await semaphore.using(async () => expect(await semaphore.seats()).toBe(2));
    await expect(new Semaphore(session, path, 3).seats()).rejects.toMatchObject({ code: 'SEATS_MISMATCH' });
  });

  it('removes nothing of an election or a group that is above the path, also beyond the chroot', async () => {
    const { session, path: root } = await openWithPath('prune');
    await leave(session, `${root}/election`);
    await use(session, `${root}/election/cron`);
    await use(session, `${root}/group/members`);
    await session.setData(`${root}/group`, Buffer.from('{"format":"conclave.shards.1","count":2}'));
    for (const [path, said] of [
      [`${root}/election/cron`, `below ${root}/election, an election: prune removes nothing of an election`],
      [
        `${root}/group/members`,
        `below ${root}/group, a group of shards: prune removes nothing that belongs to a group`,
      ],
    ] as const) {
      expect(await conclave('prune', path, '--locks', '--yes')).toEqual({
        exitCode: 64,
        stdout: [],
        stderr: `conclave: ${path} is ${said}`,
      });
      const below = `${connectString()}${path.slice(0, path.lastIndexOf('/'))}`;
      const name = path.slice(path.lastIndexOf('/'));
      expect(await conclave('prune', name, '--locks', '--yes', '-c', below)).toMatchObject({
        exitCode: 64,
        stdout: [],
      });
      expect(await isThere(session, path)).toBe(true);
    }
    for (const name of ['election', 'group', 'none'])
      expect(await conclave('prune', `${root}/${name}`, '--locks', '--yes')).toMatchObject({
        exitCode: 0,
        stdout: [],
      });
    expect(await isThere(session, `${root}/group/members`)).toBe(true);
  });

  it('exits with 77 if the servers do not let it remove a path', async () => {
    const root = uniquePath('prune');
    const owner = await openSession({ auth: { scheme: 'digest', credentials: 'alice:wonder' } });
    const open = { scheme: 'world', id: 'anyone', permissions: 1 };
    const access = [{ scheme: 'auth', id: '', permissions: 31 }, open];
    await owner.create(root, { access });
    await new DistributedLock(owner, `${root}/lock`, { access }).using(() => undefined);
    expect(await conclave('prune', root, '--locks', '--yes')).toEqual({
      exitCode: 77,
      stdout: [],
      stderr: `conclave: ${root}/lock is kept: the servers do not let this client delete it`,
    });
  });

  it('takes the chroot for the path /, and refuses the root of the servers', async () => {
    const { session, path: root } = await openWithPath('prune');
    await use(session, `${root}/lock`);
    const words = ['prune', '/', '--locks', '--yes'];
    expect(await conclave(...words)).toEqual({
      exitCode: 64,
      stdout: [],
      stderr: expect.stringContaining('--locks takes no path /: an empty folder of another application'),
    });
    expect(await isThere(session, `${root}/lock`)).toBe(true);
    expect(await conclave(...words, '-c', `${connectString()}${root}`)).toMatchObject({
      exitCode: 0,
      stdout: ['/lock'],
    });
    expect(await isThere(session, `${root}/lock`)).toBe(false);
  });

  it('refuses --older-than', async () => {
    const { exitCode, stderr } = await conclave('prune', '/b', '--locks', '--older-than', '30d');
    expect([exitCode, stderr]).toEqual([
      64,
      expect.stringContaining("--locks takes no --older-than: the servers don't record when"),
    ]);
  });
});
