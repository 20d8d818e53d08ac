import { BadVersionError, type ZooKeeperError } from '../errors.js';
import { takeoverDelayMs } from '../lease/silence.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { sleep } from '../platform/time/clock.js';
import { isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import { createRecords } from './ownership/shard-records.js';
import { readGroup } from './read-group.js';
import { type HeldRecord, readRemoved } from './removed-shards.js';
import type { GroupPaths } from './stored/paths.js';
import type { GroupShards } from './stored/shard-list.js';
import { ShardList } from './stored/shard-list.js';

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

/** A record that can't be read may name a member. */
function refused(refusal: ZooKeeperError): never {
  throw refusal;
}

/**
 * Resolves when no member acts for a shard that the group has no more, also for those of an earlier change. A member that is gone may act
 * until a takeover delay after this has first seen that it is gone.
 * @throws InvalidStateError if there is no such group; the signal's reason; what ended the session; or a server's refusal, also to show
 *   the record of one such shard
 */
export async function untilGivenBack(session: Session, paths: GroupPaths, signal: Abortable): Promise<void> {
  const { clock } = session;
  const goneSince = new Map<string, number>();
  const mayAct = ({ node, leaseMs }: HeldRecord, present: ReadonlySet<string>) => {
    if (present.has(node)) return true;
    const since = goneSince.get(node) ?? clock.now();
    goneSince.set(node, since);
    return clock.now() - since < takeoverDelayMs(leaseMs);
  };
  for (;;) {
    const { list } = await readGroup(session, paths, signal);
    const removed = await readRemoved(session, paths, list, signal, refused);
    if (removed.length === 0) return;
    // After the records: a member that one names has joined before.
    const listing = session.retryUntilAnswered(() => session.getChildren(paths.members), signal);
    const present = new Set(await listing);
    if (!removed.some(({ record }) => mayAct(record, present))) return;
    await sleep(clock, LOOK_EVERY_MS, signal);
  }
}
