import { expect, onTestFinished } from 'vitest';
import {
  parseRecord,
  type ReadRecord,
  serializeRecord,
} from '../../../src/election/record/election-record.js';
import { LazyAbortController } from '../../../src/platform/async/lazy-abort-controller.js';
import type { Session } from '../../../src/session/session.js';
import { joinGroup, leaveGroup } from '../../../src/shards/members/join-and-leave.js';
import type { OwnedShard } from '../../../src/shards/ownership/owned-shard.js';
import { ShardOwner } from '../../../src/shards/ownership/shard-owner.js';
import { prepareGroup } from '../../../src/shards/read-and-resize-group.js';
import { ShardList } from '../../../src/shards/stored/shard-list.js';
import type { EmbeddedZooKeeper } from '../../../src/testing/index.js';
import { startWithTestClock } from '../servers/embedded-with-test-clock.js';
import { PERMISSION, setAcl, world } from '../wire/operations.js';
import { RawClient } from '../wire/raw-client.js';
import { PATHS, TIMES } from './group-members.js';
import { recordShards } from './shard-recorder.js';

/** Long enough for a claim or a release that waits for nothing. */
export const SOON_MS = 100;

/** Members that own the shards that the test names, on an embedded server, without a planner and without a watch of the members. */
export async function setUpOwners({ shards = 3 }: { shards?: number | string[] } = {}) {
  const { clock, server, open } = await startWithTestClock();
  const list = ShardList.of(shards);
  const never = new LazyAbortController();
  const outsider = await open(TIMES);
  await clock.advanceUntil(prepareGroup(outsider, PATHS, list, never));

  const join = async (id: string, given?: Session) => {
    const session = given ?? (await open(TIMES));
    const options = { data: { id, weight: 1 }, signal: never } as const;
    const member = await clock.advanceUntil(joinGroup(session, PATHS, options));
    /** The work of each shard that it acquires. */
    let run = (_: OwnedShard): unknown => undefined;
    const { told, errors, acquired, listener } = recordShards((shard) => run(shard));
    const owner = new ShardOwner({ session, paths: PATHS, member, id }, list, listener);
    const leave = async () => {
      await owner.stop();
      await leaveGroup(session, PATHS, member, owner.mayBeNamed);
    };
    onTestFinished(async () => {
      server.clearFaults();
      await clock.advanceUntil(leave());
      expect(errors).toEqual([]);
    });
    /** From now on it is to own those shards, and what can be done at once is done. */
    const follow = async (shards: string[]) => {
      owner.follow(shards);
      await clock.advance(SOON_MS);
    };
    const works = (work: typeof run) => {
      run = work;
    };
    const { node } = member.entry;
    return { id, session, member, node, owner, told, errors, acquired, follow, works, leave };
  };

  const record = (shard: string): ReadRecord => {
    const data = server.data(PATHS.recordOf(shard)) as Buffer;
    return parseRecord(data, data.length === 0 ? 0 : 1);
  };
  /** The name of the member that the record names; `undefined` for a vacant record. */
  const holder = (shard: string) => {
    const found = record(shard);
    return found.state === 'held' ? found.id : undefined;
  };
  /** Acts as an observer whose delay for that member is over. */
  const bury = async ({ member, node }: { member: { node: { path: string } }; node: string }) => {
    const nodes = [member.node.path, member.node.path.replace(/_c_(.*)-lock-.*/, '_h_$1')];
    await outsider.commit([
      ...nodes.map((path) => ({ kind: 'delete', path }) as const),
      { kind: 'create', path: PATHS.tombstoneOf(node), data: Buffer.alloc(0) },
    ]);
  };
  /** Another client writes the record: the member of that node holds the shard. */
  const nameIn = async (shard: string, node: string) => {
    const data = serializeRecord({ state: 'held', term: 1, id: 'named', node, leaseMs: TIMES.leaseMs });
    await clock.advanceUntil(outsider.setData(PATHS.recordOf(shard), data));
  };
  const permit = (path: string, permissions: number) => permitAll(server, path, permissions);
  return { clock, server, open, outsider, join, record, holder, bury, nameIn, permit };
}

/** From now on any client has only these rights on the node. */
export async function permitAll(server: EmbeddedZooKeeper, path: string, permissions: number): Promise<void> {
  const administrator = await RawClient.connect(Number(server.connectString.split(':').at(-1)));
  await administrator.do(setAcl(path, world(PERMISSION.admin | permissions)));
  await administrator.close();
}
