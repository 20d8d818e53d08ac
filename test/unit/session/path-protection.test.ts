import { describe, expect, it } from 'vitest';
import {
  NoNodeError,
  SessionClosedError,
  UnprotectedPathError,
  ZooKeeperError,
} from '../../../src/errors.js';
import { type PathPolicy, PathProtection } from '../../../src/session/path-protection.js';
import type { AccessEntry } from '../../../src/session/protocol/acl.js';
import { SILENT } from '../../support/silent-logger.mjs';

const entry = (permissions: number, scheme = 'world', id = 'anyone') => ({ scheme, id, permissions });

/** A session that gives the test's answers, and counts the requests. */
function setUp(policy: PathPolicy, acls: Record<string, AccessEntry[] | Error>) {
  const asked: string[] = [];
  const made: string[] = [];
  const warned: unknown[] = [];
  const operations = {
    retryUntilAnswered: <T>(operation: () => Promise<T>) => operation(),
    getAcl: async (path: string) => {
      asked.push(path);
      const acl = acls[path];
      if (acl instanceof Error || acl === undefined) throw acl ?? new NoNodeError(-101, 'NO_NODE', 'getAcl');
      return acl;
    },
    ensurePath: async (path: string) => {
      made.push(path);
      acls[path] = [entry(31, 'digest', 'alice:x')];
    },
    absolute: (path: string) => path,
  };
  const logger = { ...SILENT, warn: (details: unknown) => void warned.push(details) };
  return { asked, made, warned, acls, guard: new PathProtection(operations, logger, policy) };
}

describe('what looks after the paths of queues', () => {
  const CLOSED: AccessEntry[] = [];
  const OPEN = [entry(31)];

  it('refuses one that is open to all, each time, and asks once about one that is not', async () => {
    const acls = { '/a': CLOSED, '/a/open': OPEN, '/a/mine': [entry(1)], '/a/ours': [entry(4)] };
    const { guard, asked, warned } = setUp('check', acls);
    await expect(guard.check('/a/open')).rejects.toBeInstanceOf(UnprotectedPathError);
    await expect(guard.check('/a/open')).rejects.toBeInstanceOf(UnprotectedPathError);
    for (const path of ['/a/mine', '/a/ours', '/a/mine', '/a/ours']) await guard.check(path);
    expect(asked).toEqual(['/a', '/a/open', '/a', '/a/open', '/a', '/a/mine', '/a', '/a/ours']);
    expect(warned).toEqual([]);
    expect(guard.confirm('/a/mine')).toBeUndefined();
  });

  it('creates one that is missing, and looks at it then', async () => {
    const { guard, asked, made } = setUp('check', { '/a': CLOSED });
    await guard.check('/a/new');
    expect(made).toEqual(['/a/new']);
    expect(asked).toEqual(['/a', '/a/new', '/a', '/a/new']);
    expect(guard.check('/a/new')).toBeUndefined();
  });

  it('asks again about one that is said to have gone', async () => {
    const { guard, acls } = setUp('check', { '/a': CLOSED, '/a/mine': CLOSED });
    await guard.check('/a/mine');
    guard.forget('/a/mine');
    acls['/a/mine'] = [entry(2)];
    await expect(guard.check('/a/mine')).rejects.toBeInstanceOf(UnprotectedPathError);
  });

  it.each([
    ['delete', 8],
    ['change the access list of', 16],
  ])('refuses one below a node that all clients may %s', async (_, permissions) => {
    const { guard } = setUp('check', { '/a': [entry(permissions)], '/a/mine': CLOSED });
    await expect(guard.check('/a/mine')).rejects.toMatchObject({ path: '/a' });
  });

  it('does not mind who may read or write the node above it', async () => {
    const { guard } = setUp('check', { '/a': [entry(1 | 2)], '/a/mine': CLOSED });
    await guard.check('/a/mine');
    expect(guard.confirm('/a/mine')).toBeUndefined();
  });

  it('looks again each time at one that all clients may create: a client with access may have deleted it', async () => {
    const { guard, acls, warned } = setUp('check', { '/a': [entry(1 | 4)], '/a/mine': CLOSED });
    await guard.check('/a/mine');
    await guard.confirm('/a/mine');
    acls['/a/mine'] = OPEN;
    await expect(guard.confirm('/a/mine')).rejects.toMatchObject({ path: '/a/mine' });
    expect(warned).toEqual([]);
  });

  it('looks again each time at one below the root, if that is open to all, and warns once', async () => {
    const { guard, acls, warned } = setUp('check', { '/': OPEN, '/mine': CLOSED, '/other': CLOSED });
    await guard.check('/mine');
    await guard.check('/other');
    expect(warned).toEqual([{ path: '/mine' }]);
    expect(guard.check('/mine')).toBeUndefined();
    await guard.confirm('/mine');
    acls['/mine'] = OPEN;
    await expect(guard.confirm('/mine')).rejects.toMatchObject({ path: '/mine' });
    await expect(guard.check('/mine')).rejects.toMatchObject({ path: '/mine' });
  });

  it('looks again at one that was forgotten since it was checked, by another contender’s failure say', async () => {
    const { guard, acls } = setUp('check', { '/': OPEN, '/mine': CLOSED });
    await guard.check('/mine');
    guard.forget('/mine');
    acls['/mine'] = OPEN;
    await expect(guard.confirm('/mine')).rejects.toMatchObject({ path: '/mine' });
  });

  it('looks again each time at one below a node whose access list it may not see', async () => {
    const hidden = new ZooKeeperError(-102, 'NO_AUTH', 'getAcl');
    const { guard } = setUp('check', { '/a': hidden, '/a/mine': CLOSED });
    await guard.check('/a/mine');
    expect(guard.confirm('/a/mine')).toBeInstanceOf(Promise);
  });

  it('passes on what goes wrong otherwise', async () => {
    const { guard } = setUp('check', { '/': CLOSED, '/a': new SessionClosedError('over') });
    await expect(guard.check('/a')).rejects.toBeInstanceOf(SessionClosedError);
  });

  it('asks about none that it is to trust', async () => {
    const { guard, asked, warned } = setUp('trust', { '/open': [entry(31)] });
    await guard.check('/open');
    expect(guard.confirm('/open')).toBeUndefined();
    expect([asked, warned]).toEqual([[], []]);
  });

  it('warns, once, of the path, where everything is open to all', async () => {
    const { guard, asked, warned } = setUp('warn', {});
    await guard.check('/a');
    await guard.check('/b');
    expect(asked).toEqual([]);
    expect(warned).toEqual([{ path: '/a' }]);
  });

  it('remembers no more than so many, and then begins anew', async () => {
    const paths = Array.from({ length: 1001 }, (_, index) => `/${index}`);
    const acls = Object.fromEntries(['/', ...paths].map((path) => [path, [entry(1)]]));
    const { guard, asked } = setUp('check', acls);
    for (const path of paths) await guard.check(path);
    expect(asked).toHaveLength(2002);
    await guard.check('/1000');
    expect(asked).toHaveLength(2002);
    await guard.check('/0');
    expect(asked).toHaveLength(2004);
  });
});
