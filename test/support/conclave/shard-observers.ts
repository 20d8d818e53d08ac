import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { Session } from '../../../src/session/session.js';
import { ShardObserver } from '../../../src/shards/observer/shard-observer.js';
import { serializeMember, serializeOwned } from '../../../src/shards/stored/data-formats.js';
import { GroupPaths } from '../../../src/shards/stored/group-paths.js';
import { ShardList } from '../../../src/shards/stored/shard-list.js';

type Wait = <T>(promise: Promise<T>) => Promise<T>;

const NO_DATA = Buffer.alloc(0);

/** By shard, the ids of the owners that an observer shows or reports. */
export function idsOf(owners: Iterable<[string, { readonly id: string } | undefined]>) {
  return Object.fromEntries([...owners].map(([shard, owner]) => [shard, owner?.id]));
}

/** An observer that isn't started, with what it reports; stopped at the end of the test. */
export function observerOf(wait: Wait, ...given: ConstructorParameters<typeof ShardObserver>) {
  const observer = new ShardObserver(...given);
  onTestFinished(() => wait(observer.stop()));
  const changes: Record<string, string | undefined>[] = [];
  const errors: Error[] = [];
  observer.on('change', (changed) => void changes.push(idsOf(changed)));
  observer.on('error', (error) => void errors.push(error));
  return { observer, changes, errors };
}

/** Writes what a group's members would write, with one session and without any member. */
export function scriptedGroup(session: Session, path: string) {
  const paths = new GroupPaths(path);
  const announce = () => session.setData(paths.members, NO_DATA);
  return {
    paths,
    async make(shards: number | string[]): Promise<void> {
      for (const each of [paths.members, paths.owned]) await session.ensurePath(each);
      await this.list(shards);
    },
    async list(shards: number | string[]): Promise<void> {
      await session.setData(path, ShardList.of(shards).serialize());
    },
    /** Adds a member that owns nothing yet. @returns the name of its node */
    async join(id: string): Promise<string> {
      const data = serializeMember({ id, weight: 1 });
      const prefix = `${paths.members}/_c_${randomUUID()}-lock-`;
      const { value } = await session.create(prefix, { mode: 'ephemeral-sequential', data });
      await announce();
      return value.slice(paths.members.length + 1);
    },
    async publish(node: string, numbers: readonly number[]): Promise<void> {
      const [at, data] = [paths.ownedOf(node), serializeOwned(numbers)];
      if ((await session.exists(at)) === undefined) await session.create(at, { mode: 'ephemeral', data });
      else await session.setData(at, data);
    },
    /** Its publication stays. */
    async bury(node: string): Promise<void> {
      await session.remove(`${paths.members}/${node}`);
      await announce();
    },
  };
}
