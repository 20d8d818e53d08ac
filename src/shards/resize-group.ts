import { BadVersionError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { sleep } from '../platform/time/clock.js';
import { isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import type { GroupPaths } from './nodes/group-paths.js';
import type { GroupShards } from './nodes/group-shards.js';
import { ShardList } from './nodes/shard-list.js';
import { createRecords, readRecords } from './ownership/shard-records.js';
import { readGroup } from './read-group.js';

/**
 * Gives a group other shards, while its members work. They follow at once: new shards are shared out, and those that go are given back when
 * their work has settled. A shard that stays keeps its owner, which hears of nothing, unless the shares change. Members that are started
 * with the former shards are accepted, and follow the group's; of the lists that a group had, it remembers 16.
 *
 * What belongs to a key's shard is another matter: with another number most keys are in other shards, see `shardOf`.
 * @param shards - their number, or their names
 * @returns the shards that the group has now
 * @throws InvalidOptionError if the shards are wrong, or are a number where the group has names, or names where it has a number;
 *   InvalidStateError if there is no such group; what ended the session; or a server's refusal
 */
export async function resizeGroup(
  session: Session,
  paths: GroupPaths,
  shards: number | readonly string[],
): Promise<GroupShards> {
  const next = ShardList.of(shards);
  for (;;) {
    const { list, version } = await readGroup(session, paths);
    if (list.equals(next)) return { list, version };
    const changed = list.changedTo(next);
    // Only of those that are new. A record that is missing of a shard that the group has was deleted by another client: made anew, it would
    // have versions again that were fences before. For the same reason the records of those that go stay.
    const isNew = (shard: string) => list.numberOf(shard) === undefined;
    await createRecords(session, paths, next.ids.filter(isNew));
    try {
      const stat = await session.setData(paths.group, changed.serialize(), version);
      return { list: changed, version: stat.version };
    } catch (error) {
      if (!(error instanceof BadVersionError || isUnanswered(error))) throw error; // Else the next read shows what was written.
    }
  }
}

const LOOK_EVERY_MS = 100;

/** Resolves when no member owns any of these shards, which have left the group. @throws the signal's reason, or what ended the session */
export async function untilGivenBack(
  session: Session,
  paths: GroupPaths,
  shards: readonly string[],
  signal: Abortable,
): Promise<void> {
  for (let left = shards; left.length > 0; ) {
    const seen = await readRecords(session, paths, left, signal);
    left = seen.filter(({ record }) => record.state === 'held').map(({ shard }) => shard);
    if (left.length > 0) await sleep(session.clock, LOOK_EVERY_MS, signal);
  }
}
