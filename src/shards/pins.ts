import {
  BadVersionError,
  InvalidOptionError,
  InvalidStateError,
  NodeExistsError,
  NoNodeError,
} from '../errors.js';
import { isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import { readGroup } from './read-group.js';
import { type Pins, parsePins, serializePins } from './stored/formats.js';
import type { GroupPaths } from './stored/paths.js';
import type { ShardList } from './stored/shard-list.js';

/** The pins, and the version of their node; `undefined`: there is none. */
interface ReadPins {
  readonly pins: Map<string, string>;
  readonly version: number | undefined;
}

/**
 * Which shards are pinned to which members. Empty where none ever was.
 * @throws InvalidStateError if the node holds no pins; what ended the session; or a server's refusal
 */
export async function readPins(session: Session, paths: GroupPaths): Promise<Map<string, string>> {
  return (await read(session, paths)).pins;
}

/**
 * Changes the pins of a group. The planner follows them at once, if their members are there and take the shards. What others write at the
 * same time isn't lost: the change is made again on what they have written.
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
  for (;;) {
    const [{ list }, { pins: former, version }] = await Promise.all([
      readGroup(session, paths),
      read(session, paths),
    ]);
    const pins = new Map(change(new Map(former)));
    const changed = [...pins].filter(([shard, member]) => former.get(shard) !== member);
    if (changed.length === 0 && pins.size === former.size) return pins;
    checkPins(changed, list);
    const data = serializePins(pins);
    try {
      if (version === undefined) await session.create(paths.pins, { data });
      else await session.setData(paths.pins, data, version);
      return pins;
    } catch (error) {
      const isOutdated = [BadVersionError, NodeExistsError, NoNodeError].some(
        (each) => error instanceof each,
      );
      if (!isOutdated && !isUnanswered(error)) throw error; // Else the next read shows what was written.
    }
  }
}

async function read(session: Session, { pins: path }: GroupPaths): Promise<ReadPins> {
  try {
    const { data, stat } = await session.retryUntilAnswered(() => session.getData(path));
    const pins = parsePins(data);
    if (pins !== undefined) return { pins, version: stat.version };
  } catch (error) {
    if (error instanceof NoNodeError) return { pins: new Map(), version: undefined };
    throw error;
  }
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
