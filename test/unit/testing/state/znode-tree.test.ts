import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ErrorReply, OP_CODE } from '../../../../src/testing/protocol/op-codes.js';
import type { NodeWrite } from '../../../../src/testing/protocol/requests.js';
import { OPEN_ACL } from '../../../../src/testing/state/acl.js';
import { SessionTable } from '../../../../src/testing/state/session-table.js';
import { type Author, applyMulti, applyWrite } from '../../../../src/testing/state/writes.js';
import { ZnodeTree } from '../../../../src/testing/state/znode-tree.js';

const NAMES = ['/a', '/b', '/a/x', '/a/y', '/b/z', '/a/x/deep'];
const path = fc.constantFrom(...NAMES);
const version = fc.constantFrom(-1, -1, 0, 1);
const data = fc.constantFrom(null, Buffer.from('data'));

const write: fc.Arbitrary<NodeWrite> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(path, data, fc.constantFrom(0, 0, 1, 2, 3)).map(([at, bytes, flags]): NodeWrite => {
      return { kind: 'create', opCode: OP_CODE.create, path: at, data: bytes, acl: OPEN_ACL, flags };
    }),
  },
  fc
    .tuple(path, version)
    .map(([at, expected]): NodeWrite => ({ kind: 'delete', path: at, version: expected })),
  fc
    .tuple(path, data, version)
    .map(
      ([at, bytes, expected]): NodeWrite => ({ kind: 'setData', path: at, data: bytes, version: expected }),
    ),
  fc
    .tuple(path, version)
    .map(([at, expected]): NodeWrite => ({ kind: 'setACL', path: at, acl: OPEN_ACL, version: expected })),
  fc
    .tuple(path, version)
    .map(([at, expected]): NodeWrite => ({ kind: 'check', path: at, version: expected })),
);

function author(zxid: number): Author {
  return { sessionId: 7n, identities: [], stamp: { zxid: BigInt(zxid), timeMs: zxid } };
}

/** Everything that a client can see of a tree. */
function image(tree: ZnodeTree) {
  return {
    nodes: new Map(
      [...tree.paths()].sort().map((at) => [at, { ...tree.get(at)?.stat(), data: tree.get(at)?.data }]),
    ),
    children: new Map([...tree.paths()].map((at) => [at, [...(tree.get(at)?.children ?? [])].sort()])),
    ephemerals: [...tree.ephemeralsOf(7n)].sort(),
    sequences: new Map([...tree.paths()].sort().map((at) => [at, tree.get(at)?.childrenCreated])),
  };
}

it('a transaction changes nothing if one part is refused, and otherwise does what its parts do one by one', () => {
  fc.assert(
    fc.property(
      fc.array(write, { maxLength: 12 }),
      fc.array(write, { minLength: 1, maxLength: 6 }),
      (before, parts) => {
        const [together, apart] = [new ZnodeTree(), new ZnodeTree()];
        for (const tree of [together, apart])
          for (const [i, each] of before.entries()) attempt(tree, each, author(i + 1));
        const untouched = image(together);
        const outcome = applyMulti(together, parts, author(100));
        if (outcome.kind === 'refused') {
          expect(image(together)).toEqual(untouched);
          const failed = outcome.codes.findIndex((code) => code !== 0);
          expect(outcome.codes.slice(failed + 1).every((code) => code === -2)).toBe(true);
          return;
        }
        for (const part of parts) applyWrite(apart, part, author(100));
        expect(image(together)).toEqual(image(apart));
      },
    ),
    { numRuns: 500 },
  );
});

function attempt(tree: ZnodeTree, each: NodeWrite, by: Author): void {
  try {
    applyWrite(tree, each, by);
  } catch (error) {
    expect(error).toBeInstanceOf(ErrorReply);
  }
}

describe('the counter of sequential nodes', () => {
  const sequential = (at: string): NodeWrite => {
    return { kind: 'create', opCode: OP_CODE.create, path: at, data: null, acl: OPEN_ACL, flags: 2 };
  };
  const created = (tree: ZnodeTree, at: string) => {
    const { result } = applyWrite(tree, sequential(at), author(1));
    return result.kind === 'created' ? result.path : undefined;
  };

  it('counts all children ever created, with a number or without, and no deletions', () => {
    const tree = new ZnodeTree();
    expect(created(tree, '/n-')).toBe('/n-0000000000');
    applyWrite(tree, { ...sequential('/plain'), flags: 0 } as NodeWrite, author(2));
    applyWrite(tree, { kind: 'delete', path: '/n-0000000000', version: -1 }, author(3));
    expect(created(tree, '/n-')).toBe('/n-0000000002');
  });

  it('stays at the largest signed number, as in ZooKeeper 3.8, and wraps round within a transaction only', () => {
    const tree = new ZnodeTree();
    (tree.get('/') as { childrenCreated: number }).childrenCreated = 2 ** 31 - 1;
    expect(created(tree, '/n-')).toBe('/n-2147483647');
    expect(() => created(tree, '/n-')).toThrow();
    expect(created(tree, '/m-')).toBe('/m-2147483647');
    const outcome = applyMulti(tree, [sequential('/o-'), sequential('/o-')], author(9));
    const paths = outcome.kind === 'committed' ? outcome.parts.map(({ change }) => change?.path) : [];
    expect(paths).toEqual(['/o-2147483647', '/o--2147483648']);
    expect(tree.get('/')?.childrenCreated).toBe(2 ** 31 - 1);
  });
});

it('sessions end at the first tick after their timeout, unless their client sends something', () => {
  const table = new SessionTable(100);
  const quiet = table.open(1n, Buffer.alloc(16), 250, 30);
  const heard = table.open(2n, Buffer.alloc(16), 250, 30);
  table.touch(heard, 200);
  expect(quiet.expiresAtMs).toBe(300);
  expect(table.expired(299)).toEqual([]);
  expect(table.expired(300)).toEqual([quiet]);
  table.remove(quiet);
  expect(table.expired(499)).toEqual([]);
  expect(table.expired(500)).toEqual([heard]);
});
