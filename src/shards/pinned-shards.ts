import { InvalidOptionError, InvalidStateError, NodeExistsError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { sleep } from '../platform/time/clock.js';
import { ifThere, isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import { isOutdated, update } from '../session/versioned-records.js';
import { type GroupStatus, readGroupStatus } from './group-status.js';
import { unitOf } from './planner/balanced-plan.js';
import { readGroup } from './read-and-resize-group.js';
import { type Pins, parsePins, serializePins } from './stored/data-formats.js';
import type { GroupPaths } from './stored/group-paths.js';
import type { ShardList } from './stored/shard-list.js';

/**
 * Changes the pins of a group. The planner follows them immediately, if their members are there and take the shards. If others write the
 * pins at the same time, it makes the change again on what they have written.
 * @param change - gets the present pins, and returns those that are to be. May be called several times. Must return the same for the same
 *   pins, and change nothing when the pins are as it would have them
 * @returns the pins that there are now
 * @throws InvalidOptionError for a new pin of a shard that the group hasn't, or to an empty id, and if they take more than 500 kB;
 *   InvalidStateError if there is no such group, or the node holds no pins; what `change` throws; what ended the session; or a server's
 *   refusal
 */
export async function changePins(
  session: Session,
  paths: GroupPaths,
  change: (pins: Map<string, string>) => Pins,
): Promise<Map<string, string>> {
  const pins = await update(session, paths.pins, async (found) => {
    const { list } = await readGroup(session, paths);
    const former = pinsIn(paths, found);
    const pins = new Map(change(new Map(former)));
    const changed = [...pins].filter(([shard, member]) => former.get(shard) !== member);
    if (changed.length === 0 && pins.size === former.size) return undefined;
    checkPins(changed, list);
    return serializePins(pins);
  });
  return pinsIn(paths, pins);
}

function pinsIn(
  { pins: path }: GroupPaths,
  node: { readonly data: Buffer } | undefined,
): Map<string, string> {
  const pins = node === undefined ? new Map<string, string>() : parsePins(node.data);
  if (pins !== undefined) return pins;
  throw new InvalidStateError(
    `${path} holds no pins: another client has written it. Delete it, and pin the shards again`,
  );
}

function checkPins(pins: readonly (readonly [shard: string, member: string])[], list: ShardList): void {
  for (const [shard, member] of pins) {
    if (list.numberOf(shard) === undefined)
      throw new InvalidOptionError('shard', shard, `a shard of the group, which has ${list.toString()}`);
    if (typeof member !== 'string' || member === '')
      throw new InvalidOptionError(`the pin of shard ${shard}`, member, "a member's id");
  }
}

const LOOK_EVERY_MS = 100;

/**
 * Moves a shard to a member once, without pinning it for good. If the shares would be uneven after that, a shard of that member goes the
 * other way. For the time of the move, and of this session at most, both are pinned by a node of the session's own. Resolves with the ids of
 * the shards that have moved; with none if the member owned the shard already.
 * @param signal - ends the waiting; the node is deleted
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
  const node = `${paths.pins}/${session.environment.uuid()}`;
  await pinForMove(session, paths, node, pins);
  try {
    for (;;) {
      const { shards } = await readGroupStatus(session, paths);
      const owners = new Map(shards.map(({ id, owner }) => [id, owner]));
      if ([...pins].every(([id, to]) => owners.get(id) === to)) return [...pins.keys()];
      await sleep(session.clock, LOOK_EVERY_MS, signal);
    }
  } finally {
    // If the session has ended, or ends before the servers answer, they delete the node.
    const removing = ifThere(session.retryUntilAnswered(() => session.remove(node)));
    await removing.catch((error: unknown) => {
      if (!session.signal.aborted) throw error;
    });
  }
}

/** Creates the node, and has the planner look: it watches only the data of the pins. */
async function pinForMove(session: Session, paths: GroupPaths, node: string, pins: Pins): Promise<void> {
  for (;;) {
    await session.ensurePath(paths.pins);
    try {
      const { data, stat } = await session.getData(paths.pins);
      await session.commit([
        { kind: 'create', path: node, mode: 'ephemeral', data: serializePins(pins) },
        { kind: 'set', path: paths.pins, data, version: stat.version },
      ]);
      return;
    } catch (error) {
      if (error instanceof NodeExistsError) return; // The reply to an earlier try was lost.
      if (!isOutdated(error) && !isUnanswered(error)) throw error;
      await session.whenConnected();
    }
  }
}

/**
 * What has to be pinned for a move. A pure decision.
 * @returns by shard, the member; empty if nothing has to move
 */
function pinsOfMove({ shards, members }: GroupStatus, shard: string, member: string): Map<string, string> {
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
  if (from.draining) return pins; // It takes no shards.
  // With one more, the member has no more for its weight than the other one had: nothing has to go the other way.
  const unit = unitOf([to.weight, from.weight]);
  if ((to.owned + 1) / (to.weight / unit) <= from.owned / (from.weight / unit)) return pins;
  const other = shards.find(
    ({ id, owner, pinned }) => owner === member && pinned === undefined && !from.refused.includes(id),
  );
  if (other !== undefined) pins.set(other.id, from.id);
  return pins;
}
