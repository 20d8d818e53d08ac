/** Paths at which a stranger could end a hold, or take its place, although the session has credentials. Each on a real server. */
import { describe, expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { UnprotectedPathError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { Semaphore } from '../../src/lock/semaphore.js';
import type { AccessEntry } from '../../src/session/protocol/acl.js';
import type { Session } from '../../src/session/session.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import { RunningCommand } from '../support/conclave/running-command.js';
import { connectString, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { loggerOfWarnings } from '../support/recording-logger.js';
import { openAdminClient } from '../support/wire/admin-client.js';

const alice = { scheme: 'digest', credentials: 'alice:wonder' };
const ALICE: AccessEntry = { scheme: 'auth', id: '', permissions: 31 };
const world = (permissions: number): AccessEntry => ({ scheme: 'world', id: 'anyone', permissions });
const fromAnywhere = (id: string, permissions = 31): AccessEntry => ({ scheme: 'ip', id, permissions });
const [CREATE, DELETE, ADMIN] = [4, 8, 16];

const WAYS: [string, (session: Session, path: string) => Promise<unknown>][] = [
  ['a lock', async (session, path) => (await new DistributedLock(session, path).acquire()).release()],
  ['a semaphore', async (session, path) => (await new Semaphore(session, path, 2).acquire()).release()],
  [
    'an election',
    async (session, path) => {
      const elector = new LeaderElector(session, path);
      await elector.start();
      await elector.stop();
    },
  ],
];

/** An entry as `setAcl` of `zkCli.sh` takes it. */
function parsed(text: string): AccessEntry {
  const [scheme = '', ...rest] = text.split(':');
  const letters = rest.pop() ?? '';
  const permissions = [...letters].reduce((sum, letter) => sum + 2 ** 'rwcda'.indexOf(letter), 0);
  return { scheme, id: rest.join(':'), permissions };
}

const openAlice = (options: SessionOptions = {}, connect = connectString()) =>
  openSession({ auth: alice, ...options }, connect);

describe.each(WAYS)('%s', (_, use) => {
  it.each(['0.0.0.0/0', '10.1.2.3/0', '10.1.2.3/1', '127.0.0.1/7'])(
    'is refused at a path that all addresses of ip:%s may do everything with',
    async (network) => {
      const session = await openAlice();
      const path = uniquePath('open');
      await session.create(path, { access: [ALICE, fromAnywhere(network)] });
      const refused = use(session, path);
      await expect(refused).rejects.toBeInstanceOf(UnprotectedPathError);
      await expect(refused).rejects.toMatchObject({ path });
      for (const part of [path, `ip:${network}:cdrwa`, 'setAcl', 'allowUnprotectedPaths'])
        await expect(refused).rejects.toThrow(part);
      expect(await session.getChildren(path)).toEqual([]);
    },
  );

  it('is allowed at a path that one network may do everything with', async () => {
    const session = await openAlice();
    const path = uniquePath('network');
    await session.create(path, { access: [ALICE, fromAnywhere('10.0.0.0/8')] });
    await use(session, path);
  });

  it('is refused at a path that a stranger makes between the look and the making', async () => {
    const [session, stranger] = [await openAlice(), await openSession()];
    const path = uniquePath('open');
    const getAcl = session.getAcl.bind(session);
    session.getAcl = async (asked) => {
      const looking = getAcl(asked);
      // The stranger creates the node after the server has answered that there is none.
      if (asked === path) await looking.catch(() => stranger.create(path).catch(() => undefined));
      return await looking;
    };
    await expect(use(session, path)).rejects.toMatchObject({ code: 'UNPROTECTED_PATH', path });
    expect(await stranger.getChildren(path)).toEqual([]);
  });

  it.each([
    ['delete children of', DELETE],
    ['change the access list of', ADMIN],
  ])('is refused below a node that all clients may %s', async (_what, permission) => {
    const [session, stranger] = [await openAlice(), await openSession()];
    const parent = uniquePath('open');
    const path = `${parent}/mine`;
    await stranger.create(parent, { access: [world(CREATE | 1 | permission)] });
    await session.create(path);
    const refused = use(session, path);
    await expect(refused).rejects.toMatchObject({ code: 'UNPROTECTED_PATH', path: parent });
    for (const part of [parent, path, 'world:anyone:', `setAcl ${parent} world:anyone:cr,auth::cdrwa`])
      await expect(refused).rejects.toThrow(part);
    expect(await session.getChildren(path)).toEqual([]);
    await use(session, `${path}/below`);
    const allowed = await openAlice({ allowUnprotectedPaths: true });
    await use(allowed, path);
  });

  it('is refused below a chroot that all clients may delete children of, by the chroot’s name', async () => {
    const { session: stranger, path: chroot } = await openWithPath('chroot');
    await stranger.create(chroot);
    const session = await openAlice({}, `${connectString()}${chroot}`);
    await expect(use(session, '/mine')).rejects.toMatchObject({ code: 'UNPROTECTED_PATH', path: '/' });
    await expect(use(session, '/mine')).rejects.toThrow(chroot);
    await use(session, '/mine/below');
  });

  it('is allowed below the root, which every server lets all clients delete children of, with a warning', async () => {
    const { warnings, logger } = loggerOfWarnings();
    const session = await openAlice({ logger });
    for (let count = 0; count < 2; count++) await use(session, uniquePath('top'));
    expect(warnings.filter((message) => message.includes('directly below the root'))).toHaveLength(1);
  });

  it('is refused when a stranger has made its path anew below the root, while no contender was there', async () => {
    const [session, stranger] = [await openAlice(), await openSession()];
    const path = uniquePath('top');
    await use(session, path);
    await stranger.remove(path);
    await stranger.create(path);
    await expect(use(session, path)).rejects.toMatchObject({ code: 'UNPROTECTED_PATH', path });
    expect(await stranger.getChildren(path)).toEqual([]);
  });

  it('is asked about no more once its path is known, below a node that is protected', async () => {
    const session = await openAlice();
    const path = `${uniquePath('mine')}/below`;
    await use(session, path);
    let asked = 0;
    session.getAcl = () => {
      asked++;
      return Promise.reject(new Error('asked again'));
    };
    await use(session, path);
    expect(asked).toBe(0);
  });
});

it.each([
  ['open to all', {}, [world(31)], 'world:anyone:cr,auth::cdrwa'],
  [
    'open to all and owned by another identity (the lines locked the service out)',
    { auth: { scheme: 'digest', credentials: 'bob:builder' } },
    [world(31), ALICE],
    expect.stringMatching(/^world:anyone:cr,digest:bob:[^,]+:cdrwa,auth::cdrwa$/),
  ],
])(
  'an election that was made %s is protected by the lines that the errors give, one node after the other',
  async (_, options, access, expected) => {
    const stranger = await openSession(options);
    const parent = uniquePath('elections');
    const path = `${parent}/scheduler`;
    await stranger.create(parent, { access });
    await stranger.create(path, { access });
    const session = await openAlice();
    const admin = await openAdminClient(alice);
    const lines: string[] = [];
    const refused = async (): Promise<Error | undefined> => {
      const elector = new LeaderElector(session, path);
      return await elector.start().then(
        () => elector.stop().then(() => undefined),
        (reason: Error) => reason,
      );
    };
    for (let error = await refused(); error !== undefined && lines.length < 3; error = await refused()) {
      expect(error).toBeInstanceOf(UnprotectedPathError);
      const [line, node, list] = /setAcl (\S+) (\S+)/.exec(error.message) ?? [];
      lines.push(String(line));
      expect(list).toEqual(expected);
      await admin.setAcl(String(node), String(list).split(',').map(parsed));
    }
    expect(lines.map((line) => line.split(' ')[1]).sort()).toEqual([parent, path]);
  },
);

it('a control sequence in an access list reached the terminal', async () => {
  const path = uniquePath('terminal');
  const access = [
    world(31),
    { scheme: 'digest', id: 'a\u001b]0;title\u0007\u001b[2J\u009b8m:x', permissions: 31 },
  ];
  await (await openSession()).create(path, { access });
  const env = { CONCLAVE_AUTH: 'digest:service:secret', CONCLAVE_LOG_LEVEL: 'info' };
  const runner = new RunningCommand(['run', path, '--no-wait', '--', 'true'], { env });
  expect(await runner.exit()).toBe(77);
  expect(runner.stderr).toContain('a\\u001b]0;title\\u0007\\u001b[2J\\u009b8m:x');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
  expect(runner.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});
