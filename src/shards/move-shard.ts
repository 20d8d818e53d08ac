import { InvalidOptionError, InvalidStateError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { sleep } from '../platform/time/clock.js';
import type { Session } from '../session/session.js';
import { type GroupStatus, readGroupStatus } from './group-status.js';
import { changePins } from './pins.js';
import { unitOf } from './planning/targets.js';
import type { GroupPaths } from './stored/paths.js';

const LOOK_EVERY_MS = 100;

/**
 * Moves a shard to a member once, without pinning it for good. If the shares would be uneven after that, a shard of that member goes the
 * other way. For the time of the move both are pinned. Resolves with the ids of the shards that have moved; with none if the member owned
 * the shard already.
 * @param signal - ends the waiting; the pins are taken back
 * @throws InvalidOptionError for a shard or a member that isn't there; InvalidStateError if the shard has no owner, or is pinned; the
 *   signal's reason; what ended the session; or a server's refusal
 */
export async function moveShard(
  session: Session,
  paths: GroupPaths,
  { shard, member }: { readonly shard: string; readonly member: string },
  signal: Abortable,
): Promise<string[]> {
  const pins = pinsOfMove(await readGroupStatus(session, paths), shard, member);
  if (pins.size === 0) return [];
  signal.throwIfAborted();
  await changePins(session, paths, (before) => new Map([...before, ...pins]));
  try {
    for (;;) {
      const { shards } = await readGroupStatus(session, paths);
      const owners = new Map(shards.map(({ id, owner }) => [id, owner]));
      if ([...pins].every(([id, to]) => owners.get(id) === to)) return [...pins.keys()];
      await sleep(session.clock, LOOK_EVERY_MS, signal);
    }
  } finally {
    await changePins(
      session,
      paths,
      (before) => new Map([...before].filter(([id, to]) => pins.get(id) !== to)),
    );
  }
}

/**
 * What has to be pinned for a move. A pure decision.
 * @returns by shard, the member; empty if nothing has to move
 */
export function pinsOfMove(
  { shards, members }: GroupStatus,
  shard: string,
  member: string,
): Map<string, string> {
  const moved = shards.find(({ id }) => id === shard);
  if (moved === undefined) throw new InvalidOptionError('shard', shard, 'a shard of the group');
  const to = members.find(({ id }) => id === member);
  if (to === undefined)
    throw new InvalidOptionError('member', member, "the id of one of the group's members");
  if (moved.owner === member) return new Map();
  if (moved.pinned !== undefined)
    throw new InvalidStateError(
      `shard ${shard} is pinned to ${moved.pinned}: unpin it, or pin it to ${member}`,
    );
  const from = members.find(({ id }) => id === moved.owner);
  if (from === undefined)
    throw new InvalidStateError(`shard ${shard} has no owner now: try again when it has one`);
  const pins = new Map([[shard, member]]);
  // With one more, the member has no more for its weight than the other one had: nothing has to go the other way.
  const unit = unitOf([to.weight, from.weight]);
  if ((to.owned + 1) / (to.weight / unit) <= from.owned / (from.weight / unit)) return pins;
  const other = shards.find(({ owner, pinned }) => owner === member && pinned === undefined);
  if (other !== undefined) pins.set(other.id, from.id);
  return pins;
}
