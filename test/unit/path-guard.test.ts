import { describe, expect, it } from 'vitest';
import { NoNodeError, SessionClosedError, UnprotectedPathError } from '../../src/errors.js';
import { type AccessEntry, isOpenToAll } from '../../src/session/access.js';
import { PathGuard, type Watchfulness } from '../../src/session/path-guard.js';
import type { Session } from '../../src/session/session.js';

const entry = (permissions: number, scheme = 'world', id = 'anyone') => ({ scheme, id, permissions });

describe('a path is open to all', () => {
  it.each([
    ['everything', [entry(31)], true],
    ['deleting', [entry(8)], true],
    ['writing', [entry(2)], true],
    ['changing who may', [entry(16)], true],
    ['deleting, after an entry that is harmless', [entry(1), entry(8)], true],
    ['reading and creating', [entry(1 | 4)], false],
    ['nothing', [], false],
  ])('if everybody may do %s: %j → %s', (_, access, open) => {
    expect(isOpenToAll(access)).toBe(open);
  });

  it('is not so if only some may do everything', () => {
    expect(isOpenToAll([entry(31, 'digest', 'alice:x'), entry(31, 'ip', '10.0.0.1')])).toBe(false);
  });
});

/** A session that answers what the test wants, and counts how often it is asked. */
function setUp(watchfulness: Watchfulness, acls: Record<string, AccessEntry[] | Error>) {
  const asked: string[] = [];
  const warned: unknown[] = [];
  const session = {
    untilAnswered: <T>(operation: () => Promise<T>) => operation(),
    getAcl: async (path: string) => {
      asked.push(path);
      const acl = acls[path];
      if (acl instanceof Error || acl === undefined) throw acl ?? new NoNodeError(-101, 'NO_NODE', 'getAcl');
      return acl;
    },
    logger: { warn: (details: unknown) => void warned.push(details) },
  };
  return { asked, warned, acls, guard: new PathGuard(session as unknown as Session, watchfulness) };
}

describe('what looks after the paths of queues', () => {
  it('refuses one that is open to all, each time, and asks once about one that is not', async () => {
    const acls = { '/open': [entry(31)], '/mine': [entry(1)], '/ours': [entry(4)] };
    const { guard, asked, warned } = setUp('check', acls);
    await expect(guard.check('/open')).rejects.toBeInstanceOf(UnprotectedPathError);
    await expect(guard.check('/open')).rejects.toBeInstanceOf(UnprotectedPathError);
    for (const path of ['/mine', '/ours', '/mine', '/ours']) await guard.check(path);
    expect(asked).toEqual(['/open', '/open', '/mine', '/ours']);
    expect(warned).toEqual([]);
  });

  it('asks again about one that was missing, or is said to have gone', async () => {
    const { guard, asked, acls } = setUp('check', { '/mine': [entry(1)] });
    await guard.check('/new');
    acls['/new'] = [entry(31)];
    await expect(guard.check('/new')).rejects.toBeInstanceOf(UnprotectedPathError);
    await guard.check('/mine');
    guard.forget('/mine');
    acls['/mine'] = [entry(2)];
    await expect(guard.check('/mine')).rejects.toBeInstanceOf(UnprotectedPathError);
    expect(asked).toEqual(['/new', '/new', '/mine', '/mine']);
  });

  it('passes on what goes wrong otherwise', async () => {
    const { guard } = setUp('check', { '/a': new SessionClosedError('over') });
    await expect(guard.check('/a')).rejects.toBeInstanceOf(SessionClosedError);
  });

  it('asks about none that it was told to trust', async () => {
    const { guard, asked, warned } = setUp('trust', { '/open': [entry(31)] });
    await guard.check('/open');
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
    const { guard, asked } = setUp('check', Object.fromEntries(paths.map((path) => [path, [entry(1)]])));
    for (const path of paths) await guard.check(path);
    expect(asked).toHaveLength(1001);
    await guard.check('/1000');
    expect(asked).toHaveLength(1001);
    await guard.check('/0');
    expect(asked).toHaveLength(1002);
  });
});
